/** Policies attached to the resources of events, remembered until any policy or workspace changes. */
import { CallError } from '@svc/contract/codes.ts';
import type { Policy } from '@svc/contract/policy.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { RegistryClient } from './registry.ts';

/** Resource -> attached policy, of those that have one. Throws SERVICE_UNAVAILABLE. */
export type PolicyCache = (
  resources: ReadonlySet<string>,
  stamp: RegistryStamp,
) => Promise<ReadonlyMap<string, Policy>>;

type PolicyAsker = 'agora' | 'gateway';

const ASKED_AT_ONCE = 1000;
const MAX_KEPT = 50_000;

export function createPolicyCache(registry: Pick<RegistryClient<PolicyAsker>, 'policies'>): PolicyCache {
  /** Null = none attached. */
  const kept = new Map<string, Policy | null>();
  let under: number | null = null;

  function keep(resource: string, policy: Policy | null): void {
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(resource, policy);
  }

  async function read(resources: readonly string[], stamp: RegistryStamp): Promise<Map<string, Policy | null>> {
    const answer = await registry.policies({ resources: [...resources] });
    // Older than what the caller has seen already: not an answer to its question.
    if (answer.stamp.policies < stamp.policies) throw new CallError('SERVICE_UNAVAILABLE');
    const found = new Map<string, Policy | null>();
    for (const resource of resources) {
      const policy = Object.hasOwn(answer.policies, resource) ? (answer.policies[resource] ?? null) : null;
      found.set(resource, policy);
      if (answer.stamp.policies === under) keep(resource, policy);
    }
    return found;
  }

  return async function policiesOf(resources, stamp) {
    if (under !== stamp.policies) {
      kept.clear();
      under = stamp.policies;
    }
    const attached = new Map<string, Policy>();
    const missing: string[] = [];
    for (const resource of resources) {
      const policy = kept.get(resource);
      if (policy === undefined) missing.push(resource);
      else if (policy !== null) attached.set(resource, policy);
    }
    for (let from = 0; from < missing.length; from += ASKED_AT_ONCE) {
      const found = await read(missing.slice(from, from + ASKED_AT_ONCE), stamp);
      for (const [resource, policy] of found) if (policy !== null) attached.set(resource, policy);
    }
    return attached;
  };
}
