/** The registry's answers to other services. Each is read from the rows after the question came in. */
import { hash } from 'node:crypto';
import { CallError, type CallErrorCode } from '@svc/contract/codes.ts';
import { REGISTRY, type RegistryQuestion } from '@svc/contract/registry.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { RegistryReply } from '@svc/runtime/registry.ts';
import { isDatabaseAway } from '@svc/runtime/transaction.ts';
import type { Answers } from './answers/answers.ts';
import { recordAnswers } from './answers/records.ts';
import { teamAnswers } from './answers/teams.ts';
import { settingAnswers } from './answers/settings.ts';
import { sudoAnswers } from './answers/sudo.ts';
import { trustAnswers } from './answers/trust.ts';
import { workspaceAnswers } from './answers/workspaces.ts';
import type { HabitatDeps } from './deps.ts';
import { contextOf, rolesByWorkspace } from './domain/identity.ts';
import { readIdentity, readRoles, readToken } from './store/identity-rows.ts';
import { readAttached, readPolicies } from './store/policy-rows.ts';

const RAW_TOKEN = /^svc_[0-9a-f]{64}$/;

const ANSWERS: Answers = {
  async revision({ sessions }, { revision, sessions: kept }) {
    const [{ stamp, at }, current] = await Promise.all([revision.read(), kept.currentOf(sessions)]);
    return { stamp, at, current };
  },
  async subject({ token }, { store, revision }) {
    if (!RAW_TOKEN.test(token)) return { stamp: (await revision.read()).stamp, token: null };
    const { stamp, value } = await readToken(store.client, hash('sha256', token, 'hex'));
    return { stamp, token: value };
  },
  async context({ agentId, workspace }, { store }) {
    const { stamp, value } = await readIdentity(store.client, agentId);
    const subject = contextOf(value, workspace);
    const { quarantined } = value;
    return { stamp, subject, quarantined, roles: subject === null ? {} : rolesByWorkspace(value) };
  },
  async roles({ userId, workspaceId }, { store }) {
    const { stamp, value } = await readRoles(store.client, userId, workspaceId);
    return { stamp, ...value };
  },
  async policies({ resources }, { store }) {
    const { stamp, value } = await readPolicies(store.client, resources);
    return { stamp, policies: value };
  },
  async attached({ root, prefixes }, { store }) {
    const { stamp, value } = await readAttached(store.client, root, prefixes);
    return { stamp, policies: value };
  },
  ...recordAnswers,
  ...teamAnswers,
  ...settingAnswers,
  ...sudoAnswers,
  ...trustAnswers,
  ...workspaceAnswers,
};

/** Answers every question of the registry until the subscriptions are drained. */
export async function answerQuestions(
  deps: HabitatDeps,
  { bus, log }: Pick<Platform, 'bus' | 'log'>,
): Promise<Subscription[]> {
  const respond = async (question: RegistryQuestion): Promise<Subscription> => {
    const answer = ANSWERS[question] as (ask: unknown, deps: HabitatDeps) => Promise<unknown>;
    const { subject, ask } = REGISTRY[question];
    return bus.respond(
      subject,
      async (payload) => {
        try {
          return reply({ ok: true, answer: await answer(ask.parse(JSON.parse(payload)), deps) });
        } catch (error) {
          const code = codeOf(error);
          if (code === 'INTERNAL') log.error({ err: error, question }, 'a question to the registry failed');
          return reply({ ok: false, code, ...(error instanceof CallError ? { message: error.message } : {}) });
        }
      },
      { queue: 'habitat' },
    );
  };
  return Promise.all((Object.keys(ANSWERS) as RegistryQuestion[]).map(respond));
}

function reply(given: RegistryReply): string {
  return JSON.stringify(given);
}

function codeOf(error: unknown): CallErrorCode {
  if (error instanceof CallError) return error.code;
  return isDatabaseAway(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL';
}
