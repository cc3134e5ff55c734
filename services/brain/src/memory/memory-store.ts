/**
 * Values under keys, by workspace. What is past its time, by the clock of the database, is never shown; its row goes with
 * the next sweep.
 */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { NOW } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { giveRoomBack, takeRoom } from '../store/usage.ts';
import { storedKey } from './domain/key.ts';
import { decideStates, type Kept, type KeyedWish, MEMORY_LIMITS, type StateWish } from './domain/state.ts';
import {
  deleteValues,
  insertValues,
  IS_LIVE,
  lockValues,
  readNow,
  readUse,
  readValue,
  updateOf,
  workspaceColumn,
  type WrittenValue,
} from './value-rows.ts';

/** Where a value lies. `workspace` null = the space that all callers share. */
export interface MemoryPlace {
  readonly workspace: string | null;
  readonly key: string;
}

interface NewValue extends MemoryPlace, StateWish {
  /** JSON. */
  readonly value: string;
  readonly by: string;
}

interface ClearWish {
  readonly workspace: string | null;
  readonly by: string;
}

export type MemoryStore = ReturnType<typeof createMemoryStore>;

export function createMemoryStore(
  { client, change, idempotency: keys }: Pick<ServiceStore, 'client' | 'change' | 'idempotency'>,
  clock: Clock,
) {
  const together = createGroupedChange<Unit, StoredWish, Kept, 'E_CONFLICT' | 'E_QUOTA'>(change, clock, {
    laneOf: ({ wish }) => workspaceColumn(wish.workspace),
    run: stateAll,
    keys,
    readsFirst: true,
  });
  return {
    state: (call: ChangeCall, wish: NewValue): Promise<Once<Kept, 'E_CONFLICT' | 'E_QUOTA'>> => {
      const { ifVersion, ttlMs } = wish;
      return together(call, { key: storedKey(wish.workspace, wish.key), ifVersion, ttlMs, wish });
    },
    /** Null when there is none, or no more. */
    recall: ({ workspace, key }: MemoryPlace) => readValue(client, storedKey(workspace, key)),
    /** Answers how many there were. */
    clear: (call: ChangeCall, wish: ClearWish): Promise<Once<number, never>> =>
      change(call, (unit) => clear(unit, wish)),
    use: (workspace: string | null) => readUse(client, workspace),
  };
}

/** `key`: as it is stored. */
interface StoredWish extends KeyedWish {
  readonly wish: NewValue;
}

/** All of one workspace. */
async function stateAll(
  { tx, emit, lastly }: Unit,
  wishes: readonly StoredWish[],
): Promise<readonly Decision<Kept, 'E_CONFLICT' | 'E_QUOTA'>[]> {
  const workspace = workspaceColumn(wishes[0]?.wish.workspace ?? null);
  const { found, made, now } = await takePlaces(tx, workspace, wishes);
  const beyond = await withoutRoom(tx, { workspace, found, made });
  const quota = deny('E_QUOTA', { limit: MEMORY_LIMITS.keys });
  const { decisions, kept } = decideStates(found, wishes, now, (key) => (beyond.has(key) ? quota : null));
  const changed = writtenOf(kept).filter(({ key }) => found.has(key));
  if (changed.length > 0) lastly(updateOf(changed));
  for (const [index, { wish }] of wishes.entries()) if (decisions[index]?.ok === true) emit(stated(wish));
  return decisions;
}

function writtenOf(kept: ReturnType<typeof decideStates<StoredWish>>['kept']): WrittenValue[] {
  return [...kept].map(([key, { kept: last, wish }]) => ({
    key,
    kept: last,
    value: wish.wish.value,
    by: wish.wish.by,
  }));
}

/** `found`: those that were there, held until the end. `made`: new ones, in the order of the wishes, already as they will be. */
async function takePlaces(tx: SqlClient, workspace: string, wishes: readonly StoredWish[]) {
  // They go out together, and the clock is read when the rows are there.
  const [found, now] = await Promise.all([lockValues(tx, [...new Set(wishes.map(({ key }) => key))]), readNow(tx)]);
  const made = new Set<string>();
  for (;;) {
    const missing = wishes.filter(({ key }) => !found.has(key) && !made.has(key));
    const written = writtenOf(decideStates(found, missing, now).kept);
    if (written.length === 0) return { found, made, now };
    const inserted = await insertValues(tx, workspace, written);
    // A twin in another process may have made one meanwhile; then it is judged again on that.
    const lost = written.flatMap(({ key }) => (inserted.has(key) ? made.add(key) && [] : [key]));
    if (lost.length > 0) for (const [key, kept] of await lockValues(tx, lost)) found.set(key, kept);
  }
}

interface Places {
  readonly workspace: string;
  readonly found: ReadonlyMap<string, Kept>;
  readonly made: ReadonlySet<string>;
}

/** Takes room for what was made. What there is none for is gone again, and returned. */
async function withoutRoom(tx: SqlClient, places: Places): Promise<ReadonlySet<string>> {
  const { workspace, made } = places;
  if (made.size === 0 || (await takeKeys(tx, workspace, made.size))) return new Set();
  await sweepOthers(tx, places);
  let isFull = false;
  const beyond: string[] = [];
  for (const key of made) {
    isFull ||= !(await takeKeys(tx, workspace, 1));
    if (isFull) beyond.push(key);
  }
  await deleteValues(tx, beyond);
  return new Set(beyond);
}

/** False = there is not that much room. */
function takeKeys(tx: SqlClient, workspace: string, items: number): Promise<boolean> {
  const limit = { items: MEMORY_LIMITS.keys, bytes: 0 };
  return takeRoom(tx, { kind: 'memory', scope: workspace }, { items, bytes: 0 }, limit);
}

/** What is past its time makes room, except for what is being written. */
async function sweepOthers(tx: SqlClient, { workspace, found, made }: Places): Promise<void> {
  // Rows that others hold are theirs to count: waiting for them, with the count in hand, would be a circle.
  const items = await tx.$executeRawUnsafe(
    `DELETE FROM brain.brain_memory WHERE key IN (
       SELECT key FROM brain.brain_memory WHERE workspace = $1 AND expires_at <= ${NOW} AND key <> ALL($2::text[])
       FOR UPDATE SKIP LOCKED)`,
    workspace,
    [...found.keys(), ...made],
  );
  await giveRoomBack(tx, { kind: 'memory', scope: workspace }, { items, bytes: 0 });
}

function stated({ key, workspace, by }: NewValue): NewEvent {
  return { name: 'memory:stated', ...(workspace === null ? {} : { workspace }), payload: { key, by } };
}

async function clear(
  { tx, emit }: Pick<Unit, 'tx' | 'emit'>,
  { workspace, by }: ClearWish,
): Promise<Decision<number, never>> {
  const column = workspaceColumn(workspace);
  const rows = await tx.$queryRawUnsafe<{ live: boolean }[]>(
    `DELETE FROM brain.brain_memory WHERE workspace = $1
     RETURNING ${IS_LIVE} AS live`,
    column,
  );
  if (rows.length === 0) return allow(0);
  await giveRoomBack(tx, { kind: 'memory', scope: column }, { items: rows.length, bytes: 0 });
  emit({
    name: 'memory:cleared',
    ...(workspace === null ? {} : { workspace }),
    payload: { what: 'state', by, resources: [] },
  });
  return allow(rows.filter(({ live }) => live).length);
}

const SWEPT_AT_ONCE = 1000;

/** Deletes values past their time, by the clock of the database: one that is ahead would take what others may still read. */
export async function sweepMemory({ transact }: Pick<ServiceStore, 'transact'>): Promise<void> {
  for (;;) {
    const swept = await transact(async (tx) => {
      const rows = await tx.$queryRawUnsafe<{ workspace: string }[]>(
        `DELETE FROM brain.brain_memory WHERE key IN (
           SELECT key FROM brain.brain_memory WHERE expires_at <= ${NOW} ORDER BY expires_at LIMIT ${SWEPT_AT_ONCE}
           FOR UPDATE SKIP LOCKED) RETURNING workspace`,
      );
      const counts = Map.groupBy(rows, ({ workspace }) => workspace);
      // In one order, as everybody who takes several.
      for (const scope of [...counts.keys()].sort())
        await giveRoomBack(tx, { kind: 'memory', scope }, { items: counts.get(scope)?.length ?? 0, bytes: 0 });
      return rows.length;
    });
    if (swept < SWEPT_AT_ONCE) return;
  }
}
