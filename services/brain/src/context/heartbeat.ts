/** Builds the last contexts of sessions again, so that they are at hand when they are asked for. */
import { DEFAULT_DEADLINE_MS } from '@svc/contract/tool.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { BrainDeps } from '../deps.ts';
import { buildContext } from './build.ts';
import { type DueHeartbeat, HeartbeatCaller } from './heartbeat-store.ts';

interface Clock {
  now(): number;
}

export async function beatDue(deps: BrainDeps, clock: Clock): Promise<void> {
  const due = await deps.contexts.heartbeats.takeDue();
  if (due.length === 0) return;
  const { stamp } = await deps.revision();
  for (const one of due) {
    try {
      await beat(deps, { ...one, stamp, now: clock.now() });
    } catch (error) {
      // One session's brain that cannot be had is not that of the others.
      deps.log.warn({ err: error }, 'the context of a session could not be built again');
    }
  }
}

/** What it builds is given to nobody whose rights have changed since: it is kept under them. */
async function beat(
  deps: BrainDeps,
  { session, principal, caller, stamp, now }: DueHeartbeat & { readonly stamp: RegistryStamp; readonly now: number },
): Promise<void> {
  const { contexts } = deps;
  const last = await contexts.store.last(session);
  if (last !== null) {
    const limits = { token: null, registry: stamp, requestId: 'heartbeat', deadlineAt: now + DEFAULT_DEADLINE_MS };
    const as = { ...HeartbeatCaller.parse(caller), ...limits, principal, session };
    const context = { deps, caller: as, now, repeatable: true, idempotency: null, markReplayed: () => {} };
    const made = await buildContext(context, last.wish);
    if (made.ok) await contexts.store.note(session, made.value);
  }
  await contexts.heartbeats.noteBeat(session);
}
