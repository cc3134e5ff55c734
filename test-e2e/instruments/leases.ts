/** What the scenarios of the lease share. */
import type { Caller, Fields } from '../client.ts';
import type { Scenario } from '../verifies.ts';

export interface Held {
  readonly token: string;
  readonly fence: number;
  readonly expiresAt: number;
}

/** Two callers on one brain of their own, at two gateways. */
export async function pair(
  fresh: Scenario['fresh'],
  caller: Scenario['caller'],
): Promise<{ ann: Caller; bob: Caller; brain: string }> {
  const { user: ann, brain } = await fresh();
  const bob = caller({ gateway: 1 });
  await bob.ok('brain_switch', { name: brain });
  return { ann, bob, brain };
}

export const acquire = (who: Caller, agentId: string, more: Fields = {}) =>
  who.ok<Held & Fields>('svc_lock', { action: 'acquire', agentId, ...more });
export const release = (who: Caller, token: unknown) => who.ok('svc_lock', { action: 'release', token });
