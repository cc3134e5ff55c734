/** Resuming a world: decided under the lease of its brain, billed and written in steps that survive any stop. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, type Denial, deny } from '@svc/contract/decision.ts';
import type { Clock, Ids } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import type { InTurnOf } from '@svc/runtime/turns.ts';
import { finishOne } from '../finish-one.ts';
import type { Ports } from '../ports.ts';
import type { UniverseEvent, UniverseStore } from '../universe-store.ts';
import { concluded, openKeyOf, outcomeOfTwin } from './begun-calls.ts';
import { runsThrough } from '@svc/runtime/runs-through.ts';
import { resumableCells } from './domain/manifest.ts';
import { unwritten } from './domain/unwritten.ts';
import {
  filesOf,
  holderOf,
  isGivenUp,
  isRestore,
  leaseOf,
  liveRootMatch,
  MARKER,
  type Resumed,
  resumedOf,
} from './domain/restore.ts';
import type { FindRefusal, FoundManifest, Manifests, Place, Placed } from './manifests.ts';
import {
  insertRestore,
  markDone,
  type NewRestore,
  readBegun,
  readRestore,
  readUnfinished,
  type RestoreRow,
  sweepRestores,
} from './restore-rows.ts';
import { giveBack, type Going, type Gone, giveUp, goOn, type Held, LEASE_MS, type StepParts } from './steps.ts';

type ResumeRefusal = FindRefusal | 'E_STATE_LOCKED' | 'E_SNAPSHOT_BUDGET' | 'E_STATE_WRITE';

interface ResumeWish {
  readonly place: Place;
  readonly id: string;
  readonly inFile: string | null;
  readonly actor: string;
  readonly materialize: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface RestoreParts extends StepParts {
  readonly store: UniverseStore;
  readonly manifests: Manifests;
  readonly ids: Ids;
  readonly log: Pick<Platform['log'], 'error' | 'warn'>;
  readonly clock: Clock;
  readonly ports: Ports;
  readonly keptDays: number;
  /** Restores of one brain in one process come one after the other, and do not ask for its lease meanwhile. */
  readonly inTurn: InTurnOf;
}

type Outcome = Once<Resumed, ResumeRefusal>;
export type RestoreStore = ReturnType<typeof createRestoreStore>;

export function createRestoreStore(parts: RestoreParts) {
  const { store, log } = parts;
  const { client, idempotency } = store;
  return {
    /** Sent again with its key it goes on where it stopped. Throws E_OUTCOME_UNKNOWN when the job goes on instead. */
    async resume(call: ChangeCall, wish: ResumeWish): Promise<Outcome> {
      const earlier = await idempotency.find<Resumed, ResumeRefusal>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true };
      const openKey = openKeyOf(call);
      const hasBegun = openKey !== null && (await readBegun(client, openKey)) !== null;
      return hasBegun ? ofTwin(parts, call) : beginUnderLease(parts, call, wish);
    },

    /** What was cut off goes on; what nobody could finish for long is given up, and paid back. */
    reconcile: runsThrough(
      parts.clock,
      (after, limit) => readUnfinished(client, after, limit),
      (restoreId) => finishOne(log, { restoreId }, () => finishRestore(parts, restoreId)),
    ),

    sweep: () => sweepRestores(client, parts.keptDays),
  };
}

async function finishRestore(parts: RestoreParts, restoreId: string): Promise<void> {
  const row = await readRestore(parts.store.client, restoreId);
  if (isGivenUp(row, row.ageMs)) {
    await giveUp(parts, row, { refusal: 'E_STATE_WRITE', details: { cause: 'unavailable' } });
  }
  const gone = await goOn(parts, restoreId);
  if (gone.left === 'finish') await finish(parts, NOBODY, gone);
}

const NOBODY: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

async function beginUnderLease(parts: RestoreParts, call: ChangeCall, wish: ResumeWish): Promise<Outcome> {
  const { ids, manifests } = parts;
  const restoreId = ids.next('rst');
  const { place, id, inFile } = wish;
  const found = await unlessAway(manifests.find(place, id, inFile));
  if (!found.ok) return refused(parts, call, found);
  const pinned = { ...place, ...found.value.at };
  return parts.inTurn(pinned.brain, () => beginInTurn(parts, call, wish, { restoreId, found: found.value }));
}

async function beginInTurn(
  parts: RestoreParts,
  call: ChangeCall,
  wish: ResumeWish,
  { restoreId, found }: Planned,
): Promise<Outcome> {
  const { ports } = parts;
  const pinned = { ...wish.place, ...found.at };
  const held = await hold(parts, pinned, restoreId, call.caller.deadlineAt);
  if (!held.ok) return refused(parts, call, held);
  try {
    const planned = await unlessAway(plan(parts, call, wish, { restoreId, found }));
    if (!planned.ok) return await refused(parts, call, planned);
    const begun = await begin(parts, call, planned.value);
    if (!begun.isTwin) return await end(parts, call, restoreId, held.value);
  } finally {
    await giveBack(ports, pinned, restoreId);
  }
  return ofTwin(parts, call);
}

async function refused(parts: RestoreParts, call: ChangeCall, denial: Denial<ResumeRefusal>): Promise<Outcome> {
  const hasBegun = async (tx: SqlClient, openKey: string) => (await readBegun(tx, openKey)) !== null;
  return (await concluded<Resumed, ResumeRefusal>(parts.store, call, hasBegun, denial)) ?? ofTwin(parts, call);
}

/** What a call under the same key has begun, or was answered. */
async function ofTwin(parts: RestoreParts, call: ChangeCall): Promise<Outcome> {
  const { client, idempotency } = parts.store;
  const openKey = openKeyOf(call);
  const begun = openKey === null ? null : await readBegun(client, openKey);
  if (begun !== null && begun.argsHash !== call.idempotency?.argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  if (begun !== null) return end(parts, call, begun.restoreId);
  const decision = await idempotency.find<Resumed, ResumeRefusal>(client, call.idempotency);
  if (decision === null) throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: PAUSE_MS });
  return { decision, replayed: true };
}

/** A brain that does not answer may be anybody's. */
async function unlessAway<Value, Code extends string>(
  asked: Promise<Decision<Value, Code>>,
): Promise<Decision<Value, Code | 'E_STATE_LOCKED'>> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CallError && AWAY.has(error.code)) return deny('E_STATE_LOCKED');
    throw error;
  }
}

const AWAY: ReadonlySet<string> = new Set(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'E_OUTCOME_UNKNOWN']);
/** Another restore is over in a moment. */
const WAITED_MS = 10_000;
const LEFT_MS = 1000;
/** Each look waits for the writes of the brain, which wait for it in turn. */
const PAUSE_MS = 25;
const MAX_PAUSE_MS = 400;

async function hold(
  { ports: { brain }, clock }: RestoreParts,
  place: Place & Placed,
  restoreId: string,
  deadlineAt: number,
): Promise<Decision<Held, 'E_STATE_LOCKED' | 'E_STATE_WRITE'>> {
  const wish = { ...place, lease: leaseOf(restoreId), holder: holderOf(restoreId), ttlMs: LEASE_MS };
  const until = Math.min(clock.now() + WAITED_MS, deadlineAt - LEFT_MS);
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const held = await unlessAway(brain.holdLease(wish));
    if (held.ok) return allow(held.value);
    if (held.code === 'E_READ_ONLY') return unwritten({ cause: held.code });
    const { holder } = held.details ?? {};
    if (!isRestore(holder) || clock.now() > until)
      return deny('E_STATE_LOCKED', holder === undefined ? {} : { holder });
    await sleep(pauseMs);
  }
}

interface Planned {
  readonly restoreId: string;
  readonly found: FoundManifest;
}

/** What is found while the lease is held. */
async function plan(
  { manifests }: RestoreParts,
  call: ChangeCall,
  { place: { on }, actor, materialize, at }: ResumeWish,
  { restoreId, found: { manifest, at: placed } }: Planned,
): Promise<Decision<NewRestore, 'E_SNAPSHOT_MANIFEST'>> {
  const { id: manifestId, payload } = manifest;
  const { world, seed, stateRoot } = payload;
  const cells = materialize ? resumableCells(manifest) : [];
  if (cells === null) return deny('E_SNAPSHOT_MANIFEST');
  const { root: liveRoot } = await manifests.liveRoot({ on, ...placed }, { world, seed });
  const restore = { restoreId, manifestId, world, actor, stateRoot, liveRoot, materialize, at };
  return allow({
    ...restore,
    // Whoever goes on with it later is judged under what holds then.
    bearer: { ...on, registry: null },
    brain: placed.brain,
    branch: placed.branch,
    files: filesOf(manifest, cells, restore),
    openKey: openKeyOf(call),
    argsHash: call.idempotency?.argsHash ?? null,
  });
}

/** `isTwin`: a call under the same key was faster, with this or with its refusal. */
async function begin({ store }: RestoreParts, call: ChangeCall, restore: NewRestore): Promise<{ isTwin: boolean }> {
  const { decision } = await store.change({ ...call, idempotency: null }, async ({ tx }) => {
    const earlier = await outcomeOfTwin(store, call, tx);
    return allow({ isTwin: earlier !== null || !(await insertRestore(tx, restore)) });
  });
  if (!decision.ok) throw new Error('a beginning was denied');
  return decision.value;
}

/** All the steps that are left, for somebody who waits. */
async function end(parts: RestoreParts, call: ChangeCall, restoreId: string, held?: Held): Promise<Outcome> {
  try {
    const asking: Going = held === undefined ? {} : { held };
    return await finish(parts, call, await goOn(parts, restoreId, asking));
  } catch (error) {
    if (error instanceof CallError && AWAY.has(error.code)) throw new CallError('E_OUTCOME_UNKNOWN');
    throw error;
  }
}

/** The last row, with its events and the answer under the key of the call. */
async function finish({ store }: RestoreParts, call: ChangeCall, { row, left }: Gone): Promise<Outcome> {
  if (left === 'wait') throw new CallError('E_OUTCOME_UNKNOWN');
  const { refusal } = row;
  if (refusal !== null && 'failure' in refusal) throw new CallError(refusal.failure);
  // Done or begun before this call came, so that it is never late.
  const { now: _now, ...timeless } = call;
  return store.change<Resumed, ResumeRefusal>(timeless, async (unit) => {
    if (refusal?.refusal === 'E_STATE_WRITE') return unwritten(refusal.details);
    if (refusal !== null) return deny(refusal.refusal, refusal.details);
    // Somebody else may have been faster, and has told of it.
    if (left === 'finish' && (await markDone(unit.tx, row))) tell(unit, row);
    return allow(resumedOf(row));
  });
}

function tell({ emit }: Pick<Unit<UniverseEvent>, 'emit'>, row: RestoreRow): void {
  const { manifestId: id, world, brain, branch, actor: by, restoreId, resources } = row;
  const about = { id, world, brain, branch, by, restoreId };
  const { materialized } = resumedOf(row);
  const files = resources ?? [];
  const of = (isMeant: (path: string) => boolean): string[] => [
    ...new Set(files.filter(({ path }) => isMeant(path)).flatMap((file) => file.resources)),
  ];
  emit({
    name: 'universe:resumed',
    payload: { ...about, liveRootMatch: liveRootMatch(row), materialized, resources: of((path) => path === MARKER) },
  });
  if (materialized === 0) return;
  const cells = of((path) => path !== MARKER);
  emit({ name: 'universe:materialized', payload: { ...about, cells: materialized, resources: cells } });
}
