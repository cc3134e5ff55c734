/** A registry of identities in memory, which answers the brain's questions of the contract on a bus. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostedAuditEntry } from '@svc/contract/audit.ts';
import { DEFAULT_POLICY, homeKey, type Policy } from '@svc/contract/policy.ts';
import { REGISTRY, type RegistryStamp } from '@svc/contract/registry.ts';
import type { Bus } from '@svc/runtime/bus.ts';

export interface TestRegistry {
  /** What it stands at, as a gateway would put it into an envelope. */
  stamp(): RegistryStamp;
  /** Attaches a policy, whatever is not given open and in no container; null takes it off. */
  setPolicy(resource: string, policy: Partial<Policy> | null): void;
  /** Whom the registry knows in a workspace besides. */
  setRoles(userId: string, workspace: string, roles: readonly string[]): void;
  /** Raises the revision without any change that the brain could see. */
  touch(): void;
  /** Entries that were handed over to the audit. */
  readonly audited: PostedAuditEntry[];
  /** How often the attached policies were asked for. */
  readonly asked: () => number;
  /** While true, nobody answers. */
  isAway: boolean;
}

const OPEN: Policy = { ...DEFAULT_POLICY, writableBy: [], readableBy: [], container: 'public' };

type Answer = (payload: string) => unknown;

export function createTestRegistry(): TestRegistry & { answerOn(bus: Bus): Promise<void> } {
  const state: State = { policies: new Map(), roles: new Map(), audited: [], revision: 1, asked: 0 };
  const { policies, roles } = state;
  const registry = {
    audited: state.audited,
    isAway: false,
    asked: () => state.asked,
    stamp: () => stampOf(state),
    touch() {
      state.revision += 1;
    },
    setPolicy(resource: string, policy: Partial<Policy> | null) {
      state.revision += 1;
      if (policy === null) policies.delete(resource);
      else policies.set(resource, { ...OPEN, ...policy });
    },
    setRoles(userId: string, workspace: string, held: readonly string[]) {
      state.revision += 1;
      roles.set(`${userId} ${workspace}`, held);
    },
    async answerOn(bus: Bus) {
      const respond = (subject: string, answer: Answer) =>
        bus.respond(
          subject,
          async (payload) => {
            while (registry.isAway) await sleep(20);
            return JSON.stringify({ ok: true, answer: answer(payload) });
          },
          { queue: 'habitat' },
        );
      for (const [subject, answer] of Object.entries(answersOf(state))) await respond(subject, answer);
    },
  };
  return registry;
}

interface State {
  readonly policies: Map<string, Policy>;
  readonly roles: Map<string, readonly string[]>;
  readonly audited: PostedAuditEntry[];
  revision: number;
  asked: number;
}

function stampOf({ revision }: State): RegistryStamp {
  return { rev: revision, policies: revision, settings: 1 };
}

function attachedIn({ policies }: State, root: string, prefixes: readonly string[]): Record<string, Policy> {
  return Object.fromEntries(
    [...policies].filter(
      ([key]) => key === root || key.startsWith(`${root}/`) || prefixes.some((prefix) => key.startsWith(prefix)),
    ),
  );
}

function answersOf(state: State): Record<string, Answer> {
  return {
    [REGISTRY.revision.subject]: () => ({ stamp: stampOf(state), at: Date.now(), current: {} }),
    [REGISTRY.attached.subject](payload) {
      state.asked += 1;
      const { root, prefixes } = REGISTRY.attached.ask.parse(JSON.parse(payload));
      return { stamp: stampOf(state), policies: attachedIn(state, root, prefixes) };
    },
    [REGISTRY.roles.subject](payload) {
      const { userId, workspaceId } = REGISTRY.roles.ask.parse(JSON.parse(payload));
      return { stamp: stampOf(state), known: true, roles: state.roles.get(`${userId} ${workspaceId}`) ?? [] };
    },
    [REGISTRY.claim.subject](payload) {
      const { resource, workspaceId } = REGISTRY.claim.ask.parse(JSON.parse(payload));
      const policy = state.policies.get(homeKey(workspaceId)) ?? null;
      const claimed = policy !== null && !state.policies.has(resource);
      if (claimed) state.revision += 1;
      if (claimed) state.policies.set(resource, policy);
      return { stamp: stampOf(state), claimed, policy };
    },
    [REGISTRY.copyPolicies.subject](payload) {
      const { from, to } = REGISTRY.copyPolicies.ask.parse(JSON.parse(payload));
      const found = Object.entries(attachedIn(state, from, []))
        .map(([key, policy]) => [to + key.slice(from.length), policy] as const)
        .filter(([key]) => !state.policies.has(key));
      if (found.length > 0) state.revision += 1;
      for (const [key, policy] of found) state.policies.set(key, policy);
      return { stamp: stampOf(state), copied: found.length };
    },
    [REGISTRY.audit.subject](payload) {
      state.audited.push(...REGISTRY.audit.ask.parse(JSON.parse(payload)).entries);
      return {};
    },
  };
}
