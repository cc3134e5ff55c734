/**
 * The cache of a workspace as rows: what is past its time, by the clock of the database, is not there, and what is soonest
 * to expire makes room.
 */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { epochMs, NOW_AS_KEPT } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { lockNames } from '../store/name-lock.ts';
import { type Amount, CACHE_QUOTA } from './domain/quota.ts';
import { mayReplace, mayWriteIn, type Member } from './domain/space.ts';
import { IS_LIVE } from './file-store.ts';

/** `expiresAt` in ms since the epoch. */
interface Cached {
  readonly value: unknown;
  readonly expiresAt: number;
}

interface NewCached {
  readonly key: string;
  /** As JSON. */
  readonly value: string;
  readonly ttlMs: number;
}

export class TmpCache {
  readonly #store: ServiceStore;

  constructor(store: ServiceStore) {
    this.#store = store;
  }

  async read({ workspace }: Pick<Member, 'workspace'>, key: string): Promise<Cached | null> {
    const [row] = await this.#store.client.$queryRawUnsafe<{ value: string; expiresAt: number }[]>(
      `SELECT value, ${epochMs('expires_at')} AS "expiresAt" FROM brain.tmp_cache
       WHERE workspace = $1 AND key = $2 AND ${IS_LIVE}`,
      workspace,
      key,
    );
    return row === undefined ? null : { value: JSON.parse(row.value) as unknown, expiresAt: row.expiresAt };
  }

  /** Until when it stays, ms since the epoch. Throws FORBIDDEN when another's value is not the member's to replace. */
  set(call: ChangeCall, member: Member, { key, value, ttlMs }: NewCached): Promise<Once<number, never>> {
    const { workspace, actor, family } = member;
    const put = async ({ tx }: Unit): Promise<Decision<number, never>> => {
      // They go out together, and each sees what was there when the lock was had.
      const [, [present]] = await Promise.all([
        lockNames(tx, [`tmp cache of ${workspace}`]),
        tx.$queryRawUnsafe<{ by: string }[]>(
          `SELECT "by" FROM brain.tmp_cache WHERE workspace = $1 AND key = $2 AND ${IS_LIVE}`,
          workspace,
          key,
        ),
      ]);
      if (present !== undefined && !mayReplace(present, member))
        throw new CallError(
          'FORBIDDEN',
          'Somebody else keeps a value under that key; editors of the workspace may replace it.',
        );
      const [kept] = await tx.$queryRawUnsafe<{ expiresAt: number }[]>(
        `INSERT INTO brain.tmp_cache (workspace, key, value, bytes, "by", family, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, ${NOW_AS_KEPT} + $7::float8 * interval '1 ms')
         ON CONFLICT (workspace, key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes, "by" = excluded."by",
           family = excluded.family, expires_at = excluded.expires_at
         RETURNING ${epochMs('expires_at')} AS "expiresAt"`,
        workspace,
        key,
        value,
        Buffer.byteLength(value),
        actor,
        family,
        ttlMs,
      );
      if (kept === undefined) throw new Error('a value was not kept');
      await makeRoom(tx, workspace, key);
      return allow(kept.expiresAt);
    };
    return this.#store.change(call, put, { readsFirst: true });
  }

  /** Everything that the workspace keeps. Throws FORBIDDEN to a member that may not write there. Returns how many. */
  clear(call: ChangeCall, member: Member): Promise<Once<number, never>> {
    const { workspace, actor } = member;
    return this.#store.change(call, async ({ tx, emit }) => {
      if (!mayWriteIn(member)) throw new CallError('FORBIDDEN', 'This takes the role editor in the workspace.');
      const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(
        `WITH gone AS (DELETE FROM brain.tmp_cache WHERE workspace = $1 RETURNING expires_at)
         SELECT count(*) FILTER (WHERE ${IS_LIVE})::int AS count FROM gone`,
        workspace,
      );
      const { count } = row ?? { count: 0 };
      const parties = [`ws:${workspace}`];
      if (count > 0) emit({ name: 'tmp:cleared', payload: { workspace, space: 'cache', count, by: actor, parties } });
      return allow(count);
    });
  }
}

/** Beyond the quota goes what a family has put there that holds more than half of it, then what is soonest to expire. */
async function makeRoom(tx: SqlClient, workspace: string, newest: string): Promise<void> {
  const { files, bytes } = CACHE_QUOTA;
  const [used] = await tx.$queryRawUnsafe<Amount[]>(
    `SELECT count(*)::int AS files, coalesce(sum(bytes), 0)::float8 AS bytes FROM brain.tmp_cache WHERE workspace = $1`,
    workspace,
  );
  if (used === undefined || (used.files <= files && used.bytes <= bytes)) return;
  await tx.$executeRawUnsafe(
    `DELETE FROM brain.tmp_cache WHERE workspace = $1 AND key IN (
       SELECT key FROM (SELECT key, count(*) OVER kept AS files, sum(bytes) OVER kept AS bytes FROM (
           SELECT key, bytes, expires_at, family IS NOT NULL
             AND (count(*) OVER theirs > $3::int / 2 OR sum(bytes) OVER theirs > $4::float8 / 2) AS is_crowding
           FROM brain.tmp_cache WHERE workspace = $1 WINDOW theirs AS (PARTITION BY family)) rows
         WINDOW kept AS (ORDER BY key = $2 DESC, is_crowding, expires_at DESC, key)) ranked
       WHERE files > $3 OR bytes > $4)`,
    workspace,
    newest,
    files,
    bytes,
  );
}
