/** Sessions whose last context is built again from time to time, by the clock of the database. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { Subject } from '@svc/contract/subject.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore } from '@svc/runtime/store.ts';
import { z } from 'zod';
import { lockNames } from '../store/name-lock.ts';

export const HEARTBEAT = { intervalMs: 240_000, idleMs: 3_600_000, most: 100, mostOfOne: 10 } as const;

export const HeartbeatCaller = z.strictObject({ subject: Subject, operator: z.boolean() });
export type HeartbeatCaller = z.output<typeof HeartbeatCaller>;

interface Heartbeat {
  readonly beats: number;
  /** Milliseconds since the epoch; null = not yet. */
  readonly lastBeatAt: number | null;
}

export interface DueHeartbeat {
  readonly session: string;
  readonly principal: string;
  readonly caller: unknown;
}

interface StartWish {
  readonly session: string;
  readonly principal: string;
  readonly caller: HeartbeatCaller;
}

export type HeartbeatStore = ReturnType<typeof createHeartbeatStore>;

export function createHeartbeatStore({
  client,
  change,
  transact,
}: Pick<ServiceStore, 'client' | 'change' | 'transact'>) {
  return {
    /** Goes on with the one that is there, as whom it is started now. */
    start: (call: ChangeCall, wish: StartWish) => change(call, ({ tx }) => start(tx, wish)),
    /** What it was; null = there was none. */
    stop: (call: ChangeCall, session: string) => change(call, async ({ tx }) => allow(await stop(tx, session))),
    /** The session asked for something, so it goes on; null = there is none. */
    touch: (session: string) => touch(client, session),
    /** Those whose time has come, each of them once for each interval. */
    takeDue: () => transact(takeDue),
    noteBeat: (session: string) => noteBeat(client, session),
  };
}

const LOCK = 'context heartbeats';
const SHOWN = `beats::float8 AS beats, ${epochMs('last_beat_at')} AS "lastBeatAt"`;
const IS_ALIVE = `used_at >= clock_timestamp() - interval '${HEARTBEAT.idleMs} ms'`;
const NEXT = `clock_timestamp() + interval '${HEARTBEAT.intervalMs} ms'`;

async function start(
  tx: SqlClient,
  { session, principal, caller }: StartWish,
): Promise<Decision<Heartbeat, 'E_LIMIT'>> {
  await lockNames(tx, [LOCK]);
  await tx.$executeRawUnsafe(`DELETE FROM brain.brain_heartbeats WHERE NOT (${IS_ALIVE})`);
  const [count] = await tx.$queryRawUnsafe<{ all: number; own: number }[]>(
    `SELECT count(*)::int AS all, (count(*) FILTER (WHERE principal = $2))::int AS own
     FROM brain.brain_heartbeats WHERE session_key <> $1`,
    session,
    principal,
  );
  const { all = 0, own = 0 } = count ?? {};
  if (all >= HEARTBEAT.most) return deny('E_LIMIT', { limit: HEARTBEAT.most });
  if (own >= HEARTBEAT.mostOfOne) return deny('E_LIMIT', { limit: HEARTBEAT.mostOfOne });
  const [row] = await tx.$queryRawUnsafe<Heartbeat[]>(
    `INSERT INTO brain.brain_heartbeats (session_key, principal, caller, beats, due_at, used_at)
     VALUES ($1, $2, $3::jsonb, 0, ${NEXT}, clock_timestamp())
     ON CONFLICT (session_key) DO UPDATE SET principal = excluded.principal, caller = excluded.caller,
       used_at = excluded.used_at
     RETURNING ${SHOWN}`,
    session,
    principal,
    JSON.stringify(caller),
  );
  return allow(row ?? { beats: 0, lastBeatAt: null });
}

async function stop(client: SqlClient, session: string): Promise<Heartbeat | null> {
  const [row] = await client.$queryRawUnsafe<Heartbeat[]>(
    `DELETE FROM brain.brain_heartbeats WHERE session_key = $1 RETURNING ${SHOWN}`,
    session,
  );
  return row ?? null;
}

/** The statement that lets the heartbeat of a session go on. */
export function touchOf(session: string): string {
  return `UPDATE brain.brain_heartbeats SET used_at = clock_timestamp()
    WHERE session_key = ${session} AND ${IS_ALIVE}`;
}

async function touch(client: SqlClient, session: string): Promise<Heartbeat | null> {
  const [row] = await client.$queryRawUnsafe<Heartbeat[]>(`${touchOf('$1')} RETURNING ${SHOWN}`, session);
  return row ?? null;
}

async function takeDue(tx: SqlClient): Promise<DueHeartbeat[]> {
  await tx.$executeRawUnsafe(`DELETE FROM brain.brain_heartbeats WHERE NOT (${IS_ALIVE})`);
  return tx.$queryRawUnsafe<DueHeartbeat[]>(
    `UPDATE brain.brain_heartbeats SET due_at = ${NEXT}
     WHERE due_at <= clock_timestamp() RETURNING session_key AS session, principal, caller`,
  );
}

async function noteBeat(client: SqlClient, session: string): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE brain.brain_heartbeats SET beats = beats + 1, last_beat_at = clock_timestamp() WHERE session_key = $1`,
    session,
  );
}
