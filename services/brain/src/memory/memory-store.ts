/** Values under keys, by workspace. What is past its time is never shown; its row goes with the next sweep. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { giveRoomBack, takeRoom } from '../store/usage.ts';
import { storedKey } from './domain/key.ts';
import { decideState, isLive, type Kept, MEMORY_LIMITS, type StateWish } from './domain/state.ts';

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

interface KeptValue extends Kept {
  /** JSON. */
  readonly value: string;
}

interface MemoryUse {
  readonly keys: number;
  /** Of the values. */
  readonly bytes: number;
  /** Keys that end by themselves. */
  readonly expiring: number;
}

/** A call whose time decides what has expired. */
export type TimedCall = ChangeCall & { readonly now: number };

export type MemoryStore = ReturnType<typeof createMemoryStore>;

export function createMemoryStore({ client, change }: Pick<ServiceStore, 'client' | 'change'>) {
  return {
    state: (call: TimedCall, wish: NewValue): Promise<Once<Kept, 'E_CONFLICT' | 'E_QUOTA'>> =>
      change(call, (unit) => state(unit, wish, call.now), { inTurnOf: `memory of ${wish.workspace}` }),
    /** Null when there is none, or no more. */
    async recall({ workspace, key }: MemoryPlace, now: number): Promise<KeptValue | null> {
      const kept = await readValue(client, storedKey(workspace, key));
      return kept !== null && isLive(kept, now) ? kept : null;
    },
    /** Answers how many there were. */
    clear: (call: TimedCall, wish: ClearWish): Promise<Once<number, never>> =>
      change(call, (unit) => clear(unit, wish, call.now)),
    use: (workspace: string | null, now: number) => readUse(client, workspace, now),
  };
}

const EXPIRES_MS = '(extract(epoch from expires_at) * 1000)::double precision AS "expiresAt"';
const AT_MS = (parameter: string): string => `to_timestamp(${parameter}::double precision / 1000)`;

interface Row {
  readonly version: bigint;
  readonly expiresAt: number | null;
  readonly value: string;
}

function keptOf({ version, expiresAt, value }: Row): KeptValue {
  return { version: Number(version), expiresAt: expiresAt === null ? null : Math.round(expiresAt), value };
}

async function readValue(client: SqlClient, key: string): Promise<KeptValue | null> {
  const sql = `SELECT version, ${EXPIRES_MS}, value FROM brain.brain_memory WHERE key = $1`;
  const [row] = await client.$queryRawUnsafe<Row[]>(sql, key);
  return row === undefined ? null : keptOf(row);
}

async function lockValue(tx: SqlClient, key: string): Promise<Kept | null> {
  const sql = `SELECT version, ${EXPIRES_MS}, '' AS value FROM brain.brain_memory WHERE key = $1 FOR UPDATE`;
  const [row] = await tx.$queryRawUnsafe<Row[]>(sql, key);
  return row === undefined ? null : keptOf(row);
}

async function state(
  { tx, emit }: Pick<Unit, 'tx' | 'emit'>,
  wish: NewValue,
  now: number,
): Promise<Decision<Kept, 'E_CONFLICT' | 'E_QUOTA'>> {
  const stored = storedKey(wish.workspace, wish.key);
  for (;;) {
    const kept = await lockValue(tx, stored);
    const decided = decideState(kept, wish, now);
    if (!decided.ok) return decided;
    if (kept === null) {
      // A twin may have made the row meanwhile; then this one is judged again on it.
      if (!(await insertValue(tx, stored, wish, decided.value))) continue;
      if (!(await takeKey(tx, wish.workspace ?? '', now))) return deny('E_QUOTA', { limit: MEMORY_LIMITS.keys });
    } else await updateValue(tx, stored, wish, decided.value);
    emit(stated(wish));
    return allow(decided.value);
  }
}

async function insertValue(tx: SqlClient, key: string, { workspace, value, by }: NewValue, kept: Kept) {
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_memory (key, workspace, value, version, expires_at, by, at)
     VALUES ($1, $2, $3, $4::bigint, ${AT_MS('$5')}, $6, clock_timestamp()) ON CONFLICT DO NOTHING`,
    key,
    workspace ?? '',
    value,
    kept.version,
    kept.expiresAt,
    by,
  );
  return inserted === 1;
}

async function updateValue(tx: SqlClient, key: string, { value, by }: NewValue, kept: Kept): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE brain.brain_memory SET value = $2, version = $3::bigint, expires_at = ${AT_MS('$4')}, by = $5,
       at = clock_timestamp() WHERE key = $1`,
    key,
    value,
    kept.version,
    kept.expiresAt,
    by,
  );
}

/** Room for one key more; what is past its time makes room. */
async function takeKey(tx: SqlClient, workspace: string, now: number): Promise<boolean> {
  const room = { kind: 'memory', scope: workspace } as const;
  const one = { items: 1, bytes: 0 };
  const limit = { items: MEMORY_LIMITS.keys, bytes: 0 };
  if (await takeRoom(tx, room, one, limit)) return true;
  // Rows that others hold are theirs to count: waiting for them, with the count in hand, would be a circle.
  const items = await tx.$executeRawUnsafe(
    `DELETE FROM brain.brain_memory WHERE key IN (
       SELECT key FROM brain.brain_memory WHERE workspace = $1 AND expires_at <= ${AT_MS('$2')} FOR UPDATE SKIP LOCKED)`,
    workspace,
    now,
  );
  await giveRoomBack(tx, room, { items, bytes: 0 });
  return items > 0 && (await takeRoom(tx, room, one, limit));
}

function stated({ key, workspace, by }: NewValue): NewEvent {
  return { name: 'memory:stated', ...(workspace === null ? {} : { workspace }), payload: { key, by } };
}

async function clear(
  { tx, emit }: Pick<Unit, 'tx' | 'emit'>,
  { workspace, by }: ClearWish,
  now: number,
): Promise<Decision<number, never>> {
  const rows = await tx.$queryRawUnsafe<{ live: boolean }[]>(
    `DELETE FROM brain.brain_memory WHERE workspace = $1
     RETURNING expires_at IS NULL OR expires_at > ${AT_MS('$2')} AS live`,
    workspace ?? '',
    now,
  );
  if (rows.length === 0) return allow(0);
  await giveRoomBack(tx, { kind: 'memory', scope: workspace ?? '' }, { items: rows.length, bytes: 0 });
  emit({
    name: 'memory:cleared',
    ...(workspace === null ? {} : { workspace }),
    payload: { what: 'state', by, resources: [] },
  });
  return allow(rows.filter(({ live }) => live).length);
}

async function readUse(client: SqlClient, workspace: string | null, now: number): Promise<MemoryUse> {
  const [row] = await client.$queryRawUnsafe<MemoryUse[]>(
    `SELECT count(*)::int AS keys, coalesce(sum(octet_length(value)), 0)::double precision AS bytes,
       count(expires_at)::int AS expiring
     FROM brain.brain_memory WHERE workspace = $1 AND (expires_at IS NULL OR expires_at > ${AT_MS('$2')})`,
    workspace ?? '',
    now,
  );
  return row ?? { keys: 0, bytes: 0, expiring: 0 };
}

const SWEPT_AT_ONCE = 1000;

/** Deletes values past their time. */
export async function sweepMemory({ transact }: Pick<ServiceStore, 'transact'>, now: number): Promise<void> {
  for (;;) {
    const swept = await transact(async (tx) => {
      const rows = await tx.$queryRawUnsafe<{ workspace: string }[]>(
        `DELETE FROM brain.brain_memory WHERE key IN (
           SELECT key FROM brain.brain_memory WHERE expires_at <= ${AT_MS('$1')} LIMIT ${SWEPT_AT_ONCE}
           FOR UPDATE SKIP LOCKED) RETURNING workspace`,
        now,
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
