/** Work: taken under a lease, held on to, given back, done or failed; a lease that is over is judged by whoever acts next. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, ChangeOptions } from '@svc/runtime/store.ts';
import type { UniverseStore, Work } from '../universe-store.ts';
import { isInbox, type StreamPlace } from './domain/stream.ts';
import { asOf, decideClose, decideLease, decideRelease, type Hand, retryDelayMs } from './domain/work.ts';
import { wantReports } from './inbox-rows.ts';
import { expire } from './expiry.ts';
import { type Asking, type Polled, pollAll, type Taking } from './polling.ts';
import { placeKey } from './stream-rows.ts';
import type { Told } from './telling.ts';
import { tell } from './telling.ts';
import {
  completion,
  type LockedWork,
  lockWork,
  lockWorks,
  MOST_TOGETHER,
  sweepExcess,
  sweepWork,
  updateWork,
  type WorkChange,
} from './work-rows.ts';

export type WorkStore = ReturnType<typeof createWorkStore>;

/** Whose items somebody may see, and begin anew. */
export interface Sight {
  sees(place: StreamPlace): boolean;
  manages(place: StreamPlace): boolean;
}

export interface Taken {
  readonly claimed: boolean;
  readonly workId: string;
  readonly attempts: number;
  readonly leaseExpiresAt: number;
}

type CloseCode = 'E_LEASE_LOST' | 'E_WORK_ABSENT' | 'E_WORK_CLOSED';
export interface Failed {
  readonly status: 'pending' | 'dead';
  readonly attempts: number;
  readonly retryAt: number | null;
}

/** Nobody's call causes it, and it is never late. */
const OWN: ChangeCall = { caller: { subject: {}, operator: true, deadlineAt: Infinity }, idempotency: null };

/** `reportDue`: called after something came of a delegated task. */
export function createWorkStore(store: UniverseStore, clock: Clock, reportDue: () => void) {
  const { client } = store;
  const change = changeWith(store, reportDue);
  const poll = createGroupedChange<Told, Asking, Polled, 'E_STREAM_ABSENT'>(change, clock, {
    laneOf: ({ place }) => placeKey(place),
    run: pollAll,
    keys: store.idempotency,
    readsFirst: true,
    most: MOST_TOGETHER,
  });
  const complete = createGroupedChange<Told, Completing, { attempts: number }, CloseCode>(change, clock, {
    laneOf: () => 'completions',
    run: completeAll,
    keys: store.idempotency,
    readsFirst: true,
    most: MOST_TOGETHER,
  });
  const expireSome = async (): Promise<number> => {
    const { decision } = await change<number>(OWN, async (unit) => allow(await expire(unit)));
    return decision.ok ? decision.value : 0;
  };
  return {
    poll: (call: ChangeCall, place: StreamPlace, taking: Taking) => poll(call, { place, taking }),
    /** What a keyed call was answered before its queue was deleted; null = it was not. */
    polled: ({ idempotency }: ChangeCall) => store.idempotency.find<Polled, 'E_STREAM_ABSENT'>(client, idempotency),
    lease: (call: ChangeCall, workId: string, sight: Sight, taking: Taking) =>
      change<Taken, 'E_LEASE_HELD' | 'E_WORK_ABSENT' | 'E_WORK_CLOSED' | 'E_NOT_AVAILABLE'>(call, async (unit) => {
        const locked = await lockSeen(unit, workId, sight);
        return locked === null ? deny('E_WORK_ABSENT') : take(unit, locked, taking);
      }),
    release: (call: ChangeCall, workId: string, sight: Sight, hand: Hand) =>
      change<null, CloseCode>(call, (unit) => release(unit, { workId, sight, hand })),
    complete: (call: ChangeCall, workId: string, sight: Sight, { hand, result }: { hand: Hand; result: unknown }) =>
      complete(call, { workId, sight, hand, result }),
    fail: (call: ChangeCall, workId: string, sight: Sight, { hand, error }: { hand: Hand; error: unknown }) =>
      change<Failed, CloseCode>(call, (unit) =>
        close(unit, { workId, sight, hand }, async (locked) => {
          const { work, now, options } = locked;
          const delayMs = retryDelayMs(work.attempts, options);
          return fall(unit, locked, { error, retryAt: delayMs === null ? null : now + delayMs });
        }),
      ),
    async expire(): Promise<void> {
      while ((await expireSome()) > 0);
    },
    async sweep(): Promise<void> {
      while ((await sweepWork(client)) > 0);
      while ((await sweepExcess(client)) > 0);
    },
  };
}

/** A change that says, once it is made, whether something came of a delegated task. */
function changeWith(store: UniverseStore, reportDue: () => void) {
  return async <Value, Code extends string = never>(
    call: ChangeCall,
    work: (unit: Told) => Promise<Decision<Value, Code>>,
    options?: Pick<ChangeOptions, 'readsFirst'>,
  ): Promise<Once<Value, Code>> => {
    let isDue = false;
    const reporting = (unit: Work): Promise<Decision<Value, Code>> => {
      isDue = false;
      const report = async (...locked: readonly LockedWork[]): Promise<void> => {
        const ids = locked.flatMap(({ work: { id, stream } }) => (isInbox(stream) ? [id] : []));
        if (ids.length === 0) return;
        isDue = true;
        await wantReports(unit.tx, ids);
      };
      return work({ ...unit, report });
    };
    const outcome = await store.change<Value, Code>(call, reporting, options);
    if (isDue) reportDue();
    return outcome;
  };
}

function placeOfWork({ workspace, work: { stream } }: LockedWork): StreamPlace {
  return { workspace, stream };
}

async function lockSeen({ tx }: Work, workId: string, sight: Sight): Promise<LockedWork | null> {
  return seenBy(await lockWork(tx, workId), sight);
}

/** As it stands now, for who may see it. */
function seenBy(locked: LockedWork | null, sight: Sight): LockedWork | null {
  if (locked === null || !sight.sees(placeOfWork(locked))) return null;
  return { ...locked, work: { ...locked.work, ...asOf(locked.work, locked.options, locked.now) } };
}

/** Each is judged as it stands after those before it. */
async function completeAll(
  unit: Told,
  asked: readonly Completing[],
): Promise<readonly Decision<{ attempts: number }, CloseCode>[]> {
  const there = await lockWorks(unit.tx, [...new Set(asked.map(({ workId }) => workId))]);
  const done = new Map<string, Completing & { readonly locked: LockedWork }>();
  const decisions = asked.map((one): Decision<{ attempts: number }, CloseCode> => {
    const locked = seenBy(there.get(one.workId) ?? null, one.sight);
    if (locked === null) return deny('E_WORK_ABSENT');
    if (done.has(one.workId)) return deny('E_WORK_CLOSED', { status: 'completed' });
    const decision = decideClose(locked.work, one.hand);
    if (!decision.ok) return decision;
    done.set(one.workId, { ...one, locked });
    return allow({ attempts: locked.work.attempts });
  });
  const all = [...done.values()];
  if (all.length > 0) unit.lastly(completion(all));
  await unit.report(...all.map(({ locked }) => locked));
  for (const { locked, hand } of all) tell(unit, locked, 'stream:completed', { agentId: hand.name });
  return decisions;
}

async function take(
  unit: Work,
  locked: LockedWork,
  { hand, tokenHash, ttlMs }: Taking,
): Promise<Decision<Taken, 'E_LEASE_HELD' | 'E_WORK_CLOSED' | 'E_NOT_AVAILABLE'>> {
  const { work, options } = locked;
  const decision = decideLease(work, hand, locked);
  if (!decision.ok) return decision;
  const claimed = decision.value === 'claim';
  const attempts = claimed ? work.attempts + 1 : work.attempts;
  const change: WorkChange = {
    status: 'working',
    attempts,
    agentId: claimed ? hand.name : work.agentId,
    tokenHash: claimed ? tokenHash : work.tokenHash,
    leaseMs: ttlMs ?? options.leaseMs,
  };
  const until = await updateWork(unit.tx, work.id, change);
  if (until === null) throw new Error('a lease without an end');
  if (claimed) tell(unit, locked, 'stream:claimed', { agentId: hand.name, attempts });
  return allow({ claimed, workId: work.id, attempts, leaseExpiresAt: until });
}

interface Closing {
  readonly workId: string;
  readonly sight: Sight;
  readonly hand: Hand;
}

interface Completing extends Closing {
  readonly result: unknown;
}

async function close<Value>(
  unit: Work,
  { workId, sight, hand }: Closing,
  effect: (locked: LockedWork) => Promise<Value>,
): Promise<Decision<Value, CloseCode>> {
  const locked = await lockSeen(unit, workId, sight);
  if (locked === null) return deny('E_WORK_ABSENT');
  const decision = decideClose(locked.work, hand);
  return decision.ok ? allow(await effect(locked)) : decision;
}

async function release(unit: Told, { workId, sight, hand }: Closing): Promise<Decision<null, CloseCode>> {
  const locked = await lockSeen(unit, workId, sight);
  if (locked === null) return deny('E_WORK_ABSENT');
  const { work, now, createdBy } = locked;
  const decision = decideRelease(work, hand, createdBy === hand.name || sight.manages(placeOfWork(locked)));
  if (!decision.ok) return decision;
  await updateWork(unit.tx, workId, { status: 'pending', availableAt: now, ...decision.value });
  if (work.status === 'dead') await unit.report(locked);
  tell(unit, locked, 'stream:released', {});
  return allow(null);
}

/** An attempt is over without a result: it is offered again, or dead. */
async function fall(
  unit: Told,
  locked: LockedWork,
  { error, retryAt }: { readonly error: unknown; readonly retryAt: number | null },
): Promise<Failed> {
  const { id, attempts } = locked.work;
  const status = retryAt === null ? 'dead' : 'pending';
  await updateWork(unit.tx, id, { status, attempts, error, ...(retryAt === null ? {} : { availableAt: retryAt }) });
  if (retryAt === null) {
    await unit.report(locked);
    tell(unit, locked, 'stream:dead', { attempts });
  } else tell(unit, locked, 'stream:failed', { attempts, retryAt });
  return { status, attempts, retryAt };
}
