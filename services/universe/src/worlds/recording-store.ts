/** Storing a manifest in a brain: once, told once, and whole after any stop. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import { finishOne } from '../finish-one.ts';
import { concluded, openKeyOf, outcomeOfTwin } from './begun-calls.ts';
import { runsThrough } from '@svc/runtime/runs-through.ts';
import { type Manifest, manifestOf, manifestText, type World } from './domain/manifest.ts';
import { manifestFile } from './domain/restore.ts';
import { unwritten } from './domain/unwritten.ts';
import type { Place, Placed } from './manifests.ts';
import {
  deleteRecording,
  insertRecording,
  markRecorded,
  readBegunRecording,
  readOpenRecordings,
  readRecording,
  type RecordingRow,
  sweepRecordings,
} from './recording-rows.ts';
import type { RestoreParts } from './restore-store.ts';

export interface RecordWish {
  readonly place: Place;
  readonly world: World;
  /** Null = what the brain holds of it, or what it begins with. */
  readonly stateRoot: string | null;
  readonly actor: string;
}

export interface Recorded {
  readonly added: boolean;
  readonly id: string;
  readonly file: string;
  readonly stateRoot: string;
}

export type RecordRefusal = 'E_SNAPSHOT_MANIFEST' | 'E_STATE_WRITE';
type Outcome = Once<Recorded, RecordRefusal>;
type Parts = Pick<RestoreParts, 'store' | 'ports' | 'manifests' | 'ids' | 'log' | 'clock'>;
export type RecordingStore = ReturnType<typeof createRecordingStore>;

/** Whoever stores it is about to be done. */
const LEFT_ALONE_MS = 5000;
const GIVEN_UP_AFTER_MS = 600_000;
const NOBODY: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

export function createRecordingStore(parts: Parts) {
  const { store, log } = parts;
  const { client, idempotency } = store;
  return {
    async record(call: ChangeCall, wish: RecordWish): Promise<Outcome> {
      const earlier = await idempotency.find<Recorded, RecordRefusal>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true };
      const openKey = openKeyOf(call);
      const begun = openKey === null ? null : await readBegunRecording(client, openKey);
      if (begun !== null) return goOn(parts, call, begun);
      const planned = await unlessAway(plan(parts, wish));
      if (!planned.ok) return conclude(parts, call, planned);
      const { manifest, at, isThere } = planned.value;
      if (isThere) return conclude(parts, call, allow(recordedOf(manifest, false)));
      const row = await begin(parts, call, wish, { manifest, at });
      return row === null ? ofTwin(parts, call) : goOn(parts, call, row);
    },

    reconcile: runsThrough(
      parts.clock,
      (after, limit) => readOpenRecordings(client, LEFT_ALONE_MS, after, limit),
      (recordingId) =>
        finishOne(log, { recordingId }, async () => {
          const row = await readRecording(client, recordingId);
          if (row !== null) await goOn(parts, NOBODY, row);
        }),
    ),

    sweep: () => sweepRecordings(client),
  };
}

/** Nothing was begun for it. */
async function conclude(parts: Parts, call: ChangeCall, decision: Decision<Recorded, RecordRefusal>): Promise<Outcome> {
  const hasBegun = async (tx: SqlClient, openKey: string) => (await readBegunRecording(tx, openKey)) !== null;
  return (await concluded(parts.store, call, hasBegun, decision)) ?? ofTwin(parts, call);
}

/** What a call under the same key has begun, or was answered. */
async function ofTwin(parts: Parts, call: ChangeCall): Promise<Outcome> {
  const { client, idempotency } = parts.store;
  const openKey = openKeyOf(call);
  const begun = openKey === null ? null : await readBegunRecording(client, openKey);
  if (begun !== null) return goOn(parts, call, begun);
  const decision = await idempotency.find<Recorded, RecordRefusal>(client, call.idempotency);
  if (decision === null) throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 25 });
  return { decision, replayed: true };
}

interface Planned {
  readonly manifest: Manifest;
  readonly at: Placed;
}

async function plan(
  { manifests }: Parts,
  { place, world, stateRoot }: RecordWish,
): Promise<Decision<Planned & { readonly isThere: boolean }, RecordRefusal>> {
  const live =
    stateRoot === null
      ? await manifests.liveRoot(place, { world: world.name, seed: world.seed.toString('hex') })
      : null;
  const manifest = manifestOf(world, stateRoot ?? live?.root ?? world.stateRoot);
  const { at, text } = await manifests.stored({ ...place, ...live?.at }, manifest.id);
  if (at === null) return unwritten({ cause: 'E_BRANCH_ABSENT' });
  if (text !== null && text !== manifestText(manifest)) return deny('E_SNAPSHOT_MANIFEST');
  return allow({ manifest, at, isThere: text !== null });
}

/** Nothing was begun yet. */
async function unlessAway<Value>(
  asked: Promise<Decision<Value, RecordRefusal>>,
): Promise<Decision<Value, RecordRefusal>> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof CallError) || (error.code !== 'SERVICE_UNAVAILABLE' && error.code !== 'TIMEOUT'))
      throw error;
    return unwritten({ cause: 'unavailable' });
  }
}

/** Null = a call under the same key was faster. */
async function begin(
  { store, ids }: Parts,
  call: ChangeCall,
  { place: { on }, actor, world }: RecordWish,
  { manifest, at }: Planned,
): Promise<RecordingRow | null> {
  const row = {
    recordingId: ids.next('rec'),
    manifestId: manifest.id,
    world: world.name,
    actor,
    bearer: { ...on, registry: null },
    brain: at.brain,
    branch: at.branch,
    content: manifestText(manifest),
    stateRoot: manifest.payload.stateRoot,
    argsHash: call.idempotency?.argsHash ?? null,
  };
  const { decision } = await store.change({ ...call, idempotency: null }, async ({ tx }) => {
    const earlier = await outcomeOfTwin(store, call, tx);
    return allow(earlier === null && (await insertRecording(tx, { ...row, openKey: openKeyOf(call) })));
  });
  return decision.ok && decision.value ? { ...row, added: null, ageMs: 0 } : null;
}

/** Written once under its own id, then told and answered in one transaction. */
async function goOn(parts: Parts, call: ChangeCall, row: RecordingRow): Promise<Outcome> {
  const { store, ports } = parts;
  const { idempotency } = call;
  if (idempotency !== null && row.argsHash !== idempotency.argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  const { now: _now, ...timeless } = call;
  if (row.added !== null) return store.change(timeless, async () => allow(recordedOfRow(row, row.added === true)));
  const written = await writeOf(ports.brain, row).catch(async (error: unknown) => {
    if (!(error instanceof CallError)) throw error;
    if (error.status >= 500) throw new CallError('E_OUTCOME_UNKNOWN');
    // Who may not, may not: nothing was begun.
    await deleteRecording(store.client, row.recordingId);
    throw error;
  });
  if (!written.ok) {
    await deleteRecording(store.client, row.recordingId);
    return store.change(timeless, async () => written);
  }
  const { created, resources } = written.value;
  return store.change<Recorded, RecordRefusal>(timeless, async ({ tx, emit }) => {
    // Somebody else may have been faster, and has told of it.
    if ((await markRecorded(tx, row.recordingId, created)) && created) {
      const { manifestId: id, world, brain, branch, actor: by } = row;
      emit({ name: 'universe:recorded', payload: { id, world, brain, branch, file: manifestFile(id), by, resources } });
    }
    return allow(recordedOfRow(row, created));
  });
}

interface Written {
  readonly created: boolean;
  readonly resources: string[];
}

async function writeOf(
  brain: Parts['ports']['brain'],
  { recordingId, bearer, brain: name, branch, manifestId, content, ageMs }: RecordingRow,
): Promise<Decision<Written, RecordRefusal>> {
  if (ageMs >= GIVEN_UP_AFTER_MS) {
    const { written } = await brain.forgoWrite({ ref: recordingId });
    return written === null ? unwritten({ cause: 'unavailable' }) : firstOf(written);
  }
  const answer = await brain.writeFiles({
    on: bearer,
    brain: name,
    branch,
    ref: recordingId,
    lease: null,
    fence: null,
    files: [{ path: manifestFile(manifestId), content, ifMatch: 'none' }],
  });
  if (answer.ok) return firstOf(answer.value.files);
  const { code, details } = answer;
  return code === 'E_CONFLICT' ? deny('E_SNAPSHOT_MANIFEST') : unwritten({ ...details, cause: code });
}

function firstOf([file]: readonly Written[]): Decision<Written, never> {
  if (file === undefined) throw new Error('a batch of one file has none');
  return allow(file);
}

function recordedOf({ id, payload: { stateRoot } }: Manifest, added: boolean): Recorded {
  return { added, id, file: manifestFile(id), stateRoot };
}

function recordedOfRow({ manifestId: id, stateRoot }: RecordingRow, added: boolean): Recorded {
  return { added, id, file: manifestFile(id), stateRoot };
}
