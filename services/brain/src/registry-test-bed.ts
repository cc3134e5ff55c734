/** A registry of identities in memory, which answers the brain's questions of the contract on a bus. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostedAuditEntry } from '@svc/contract/audit.ts';
import { DEFAULT_POLICY, type Policy } from '@svc/contract/policy.ts';
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

export function createTestRegistry(): TestRegistry & { answerOn(bus: Bus): Promise<void> } {
  const policies = new Map<string, Policy>();
  const roles = new Map<string, readonly string[]>();
  const audited: PostedAuditEntry[] = [];
  let revision = 1;
  let asked = 0;

  const attached = (root: string, prefixes: readonly string[]): Record<string, Policy> =>
    Object.fromEntries(
      [...policies].filter(
        ([key]) => key === root || key.startsWith(`${root}/`) || prefixes.some((prefix) => key.startsWith(prefix)),
      ),
    );

  const answers: Record<string, (payload: string) => unknown> = {
    [REGISTRY.roles.subject](payload) {
      const { userId, workspaceId } = REGISTRY.roles.ask.parse(JSON.parse(payload));
      return { stamp: registry.stamp(), known: true, roles: roles.get(`${userId} ${workspaceId}`) ?? [] };
    },
    [REGISTRY.copyPolicies.subject](payload) {
      const { from, to } = REGISTRY.copyPolicies.ask.parse(JSON.parse(payload));
      const found = Object.entries(attached(from, [])).filter(([key]) => !policies.has(to + key.slice(from.length)));
      for (const [key, policy] of found) registry.setPolicy(to + key.slice(from.length), policy);
      return { stamp: registry.stamp(), copied: found.length };
    },
  };
  const registry = {
    audited,
    isAway: false,
    asked: () => asked,
    stamp: () => ({ rev: revision, policies: revision }),
    touch() {
      revision += 1;
    },
    setPolicy(resource: string, policy: Partial<Policy> | null) {
      revision += 1;
      if (policy === null) policies.delete(resource);
      else policies.set(resource, { ...OPEN, ...policy });
    },
    setRoles(userId: string, workspace: string, held: readonly string[]) {
      revision += 1;
      roles.set(`${userId} ${workspace}`, held);
    },
    async answerOn(bus: Bus) {
      const respond = (subject: string, answer: (payload: string) => unknown) =>
        bus.respond(
          subject,
          async (payload) => {
            while (registry.isAway) await sleep(20);
            return JSON.stringify({ ok: true, answer: answer(payload) });
          },
          { queue: 'habitat' },
        );
      for (const [subject, answer] of Object.entries(answers)) await respond(subject, answer);
      await respond(REGISTRY.revision.subject, () => ({ stamp: registry.stamp(), at: Date.now(), current: {} }));
      await respond(REGISTRY.attached.subject, (payload) => {
        asked += 1;
        const { root, prefixes } = REGISTRY.attached.ask.parse(JSON.parse(payload));
        return { stamp: registry.stamp(), policies: attached(root, prefixes) };
      });
      await respond(REGISTRY.audit.subject, (payload) => {
        audited.push(...REGISTRY.audit.ask.parse(JSON.parse(payload)).entries);
        return {};
      });
    },
  };
  return registry;
}
