/** What other services ask about identities, tokens and boundaries. Each is read from the rows after the question came in. */
import { hash } from 'node:crypto';
import { contextOf, rolesByWorkspace } from '../domain/identity.ts';
import { readAgents } from '../store/agent-rows.ts';
import { planOf, readAccounts, readIdentity, readRoles, readTokenStands } from '../store/identity-rows.ts';
import { readAttached, readPolicies } from '../store/policy-rows.ts';
import type { HabitatHandlers } from './handlers.ts';

const RAW_TOKEN = /^svc_[0-9a-f]{64}$/;

export const identityOperations: HabitatHandlers<
  'revision' | 'subject' | 'tokenStands' | 'context' | 'accounts' | 'agents' | 'roles' | 'policies' | 'attached'
> = {
  async revision({ sessions }, { deps: { revision, sessions: kept } }) {
    const [{ stamp, at }, current] = await Promise.all([revision.read(), kept.currentOf(sessions)]);
    return { stamp, at, current };
  },
  async subject({ token }, { deps: { store, revision }, deadlineAt }) {
    if (!RAW_TOKEN.test(token)) return { stamp: (await revision.read()).stamp, token: null };
    const { stamp, value } = await store.token(hash('sha256', token, 'hex'), deadlineAt);
    return { stamp, token: value };
  },
  async tokenStands({ tokenId }, { deps: { store } }) {
    const { stamp, value } = await readTokenStands(store.client, tokenId);
    return { stamp, stands: value };
  },
  async context({ agentId, workspace, plan: isAsked }, { deps: { store } }) {
    const { stamp, value } = await readIdentity(store.client, agentId);
    const subject = contextOf(value, workspace);
    const { quarantined, assignment } = value;
    const roles = subject === null ? {} : rolesByWorkspace(value);
    return { stamp, subject, quarantined, roles, ...(isAsked === true ? planOf(assignment) : {}) };
  },
  async accounts({ agentId }, { deps: { store } }) {
    const { stamp, value } = await readAccounts(store.client, agentId);
    return { stamp, accounts: value };
  },
  async agents({ viewer, limit }, { deps: { store } }) {
    const view = { everything: viewer === null, identity: viewer?.agentId ?? null, bound: viewer?.bound ?? null };
    const rows = await readAgents(store.client, { ...view, workspace: null, after: null, limit });
    return { agents: rows.slice(0, limit).map(({ agentId: id, name, role, team }) => ({ id, name, role, team })) };
  },
  async roles({ userId, workspaceId, confirmed: isAsked }, { deps: { store } }) {
    const { stamp, value } = await readRoles(store.client, userId, workspaceId);
    const { confirmed, ...rest } = value;
    return { stamp, ...rest, ...(isAsked === true ? { confirmed } : {}) };
  },
  async policies({ resources }, { deps: { store } }) {
    const { stamp, value } = await readPolicies(store.client, resources);
    return { stamp, policies: value };
  },
  async attached({ root, prefixes }, { deps: { store } }) {
    const { stamp, value } = await readAttached(store.client, root, prefixes);
    return { stamp, policies: value };
  },
};
