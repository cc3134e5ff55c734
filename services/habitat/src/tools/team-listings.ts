/** teams_*: what there is, as far as the caller belongs to it or owns it. */
import { z } from 'zod';
import { foldCase, IdentityId } from '@svc/contract/names.ts';
import { page } from '@svc/contract/params.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { defineTool } from '../deps.ts';
import { type Acting, isSelf, actorOf } from '../domain/actor.ts';
import { grantingPermission } from '../domain/team-permissions.ts';
import { readOrgTree } from '../store/org-tree.ts';
import { teamViewOf } from '../store/team-making.ts';
import { type Membership, readMembership } from '../store/team-permissions.ts';
import { findOne, findOrg, listVisible } from '../store/team-rows.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { Reference } from './references.ts';
import { Dept, Org, Permission, Team } from './team-shapes.ts';

const nextCursor = z.string().optional();
const idOf = ({ id }: { readonly id: string }): string => id;

const getOrg = defineTool({
  name: 'teams_getOrg',
  area: 'teams',
  description: 'An organisation with its departments and teams, and how many members each team has.',
  input: z.strictObject({ id: Reference }),
  output: Org.extend({
    depts: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        teams: z.array(z.strictObject({ id: z.string(), name: z.string(), members: z.int() })),
      }),
    ),
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_NOT_FOUND'],
  aliases: { org: 'id', name: 'id' },
  example: { id: 'Acme' },
  async handler({ id }, context) {
    const { client } = context.deps.store;
    const found = await findOne(client, teamViewOf(context.caller), 'orgs', id);
    if (!found.ok) throw context.refuse('E_NOT_FOUND');
    return { ...found.value, depts: await readOrgTree(client, found.value.id) };
  },
});

const listOrgs = defineTool({
  name: 'teams_listOrgs',
  area: 'teams',
  description: 'Organisations the caller belongs to or owns.',
  input: z.strictObject(page),
  output: z.strictObject({ orgs: z.array(Org), nextCursor }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler({ limit, cursor }, { deps, caller }) {
    const position = positionOf(limit, cursor);
    const rows = await listVisible(deps.store.client, teamViewOf(caller), 'orgs', position);
    const { items, next } = nextPage(rows, position, idOf);
    return { orgs: [...items], ...next };
  },
});

const listDepts = defineTool({
  name: 'teams_listDepts',
  area: 'teams',
  description: 'Departments of an organisation.',
  input: z.strictObject({
    org: Reference.optional().describe('Organisation, by id or name; default: the only one the caller sees.'),
    ...page,
  }),
  output: z.strictObject({ depts: z.array(Dept), nextCursor }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_NOT_FOUND', 'E_PARENT_REQUIRED'],
  example: { org: 'Acme' },
  async handler({ org: reference, limit, cursor }, context) {
    const position = positionOf(limit, cursor);
    const { client } = context.deps.store;
    const view = teamViewOf(context.caller);
    const org = context.take(await findOrg(client, view, reference));
    const { items, next } = nextPage(
      await listVisible(client, view, 'depts', { org: org.id, ...position }),
      position,
      idOf,
    );
    return { depts: [...items], ...next };
  },
});

const listTeams = defineTool({
  name: 'teams_listTeams',
  area: 'teams',
  description: 'Teams of a department.',
  input: z.strictObject({
    dept: Reference.optional().describe('Department, by id or name; default: the only one the caller sees.'),
    ...page,
  }),
  output: z.strictObject({ teams: z.array(Team), nextCursor }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_NOT_FOUND', 'E_PARENT_REQUIRED', 'E_AMBIGUOUS'],
  example: { dept: 'Research' },
  async handler({ dept: reference, limit, cursor }, context) {
    const position = positionOf(limit, cursor);
    const { client } = context.deps.store;
    const view = teamViewOf(context.caller);
    const dept = context.take(await findOne(client, view, 'depts', reference));
    const rows = await listVisible(client, view, 'teams', { org: dept.org, dept: dept.id, ...position });
    const { items, next } = nextPage(rows, position, idOf);
    return { teams: [...items], ...next };
  },
});

const hasPermission = defineTool({
  name: 'teams_hasPermission',
  area: 'teams',
  description: 'Whether the team role of an agent or user grants a permission now.',
  input: z.strictObject({
    agentId: IdentityId,
    permission: Permission,
    org: Reference.optional().describe(
      'Organisation, by id or name, in which it is to count; else that of the caller, and those that an operator has confirmed.',
    ),
  }),
  output: z.strictObject({
    hasPermission: z.boolean(),
    agentId: z.string(),
    permission: z.string(),
    because: z.string().describe('Granting permission, else no-role or no-match.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { agentId: 'agt_1', permission: 'doc:edit' },
  async handler({ agentId, permission, org }, { deps, caller }) {
    const { client } = deps.store;
    const membership = await readMembership(client, agentId);
    const permissions = membership?.permissions ?? null;
    if (membership === null || permissions === null) {
      return { hasPermission: false, agentId, permission, because: 'no-role' };
    }
    const counts = await isKnownTo(client, caller, { agentId, membership, within: org });
    if (!counts) return { hasPermission: false, agentId, permission, because: 'no-role' };
    const granting = grantingPermission(permissions, permission);
    return { hasPermission: granting !== null, agentId, permission, because: granting ?? 'no-match' };
  },
});

interface Question {
  readonly agentId: string;
  readonly membership: Membership;
  /** Id or name of an organisation. */
  readonly within: string | undefined;
}

/**
 * Whether a membership is one that the caller may know of and that counts where it asks: in the organisation it names, else
 * in its own. An operator stands in none, so to it only those count that are confirmed.
 */
async function isKnownTo(
  client: SqlClient,
  caller: Acting,
  { agentId, membership, within }: Question,
): Promise<boolean> {
  const seen = await findOne(client, teamViewOf(caller), 'orgs', membership.org);
  if (within !== undefined) return seen.ok && isCalled(seen.value, within);
  const isKnown = seen.ok || isSelf(actorOf(caller), agentId);
  return isKnown && (membership.confirmed || !caller.operator);
}

function isCalled({ id, name }: { readonly id: string; readonly name: string }, reference: string): boolean {
  return id === reference || foldCase(name) === foldCase(reference);
}

export const teamListingTools = [getOrg, listOrgs, listDepts, listTeams, hasPermission];
