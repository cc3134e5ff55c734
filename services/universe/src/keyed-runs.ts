/** What is done outside of the database under a key: once, whoever repeats the call while it is under way or later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { isAhead } from '@svc/runtime/sql-time.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore } from './universe-store.ts';

export interface KeyedRuns {
  /**
   * `work` keeps its outcome under the key of the call itself. Who repeats the call meanwhile, here or in another process,
   * waits for that outcome. What threw, or was refused without an outcome, may be tried again; so may what nobody was seen
   * at for some seconds, and is not while it is waited for, because its process is gone. Throws IDEMPOTENCY_KEY_REUSED when
   * the arguments differ, and E_OUTCOME_UNKNOWN when the time of the call is over before that of the first one.
   */
  once<Value, Code extends string>(
    call: Pick<ChangeCall, 'caller' | 'idempotency'>,
    work: () => Promise<Once<Value, Code>>,
  ): Promise<Once<Value, Code>>;
  /** Forgets runs that nobody has been at for long. */
  sweep(): Promise<void>;
}

const SEEN_EVERY_MS = 1000;
/** Several looks of whoever is at it. */
const SILENT = `seen_at < clock_timestamp() - interval '5 seconds'`;
const FORGOTTEN = `seen_at < clock_timestamp() - interval '1 hour'`;
const LOOK_EVERY_MS = 100;
/**
 * Right after the database was away nobody was seen at anything. So whoever waits looks for longer than one who lives takes
 * to be seen; in looks, because one that took long saw no more than any other.
 */
const LOOKS_AT_SILENCE = 15;

interface Run {
  readonly runId: string;
  readonly scope: IdempotencyScope;
}

/** That of somebody else, as the database writes it, and how often it was the same. */
interface SignOfLife {
  readonly seenAt: string;
  readonly looks: number;
}

function seenOnceMore(before: SignOfLife | null, seenAt: string): SignOfLife {
  return { seenAt, looks: before?.seenAt === seenAt ? before.looks + 1 : 1 };
}

type Needs = Pick<UniverseStore, 'client' | 'idempotency'>;

export function createKeyedRuns(
  { client, idempotency }: Needs,
  { clock, ids }: Pick<Platform, 'clock' | 'ids'>,
): KeyedRuns {
  const { begins, seen, end, forget } = rowsOf(client);

  async function known<Value, Code extends string>(scope: IdempotencyScope): Promise<Once<Value, Code> | null> {
    const decision = await idempotency.find<Value, Code>(client, scope);
    return decision === null ? null : { decision, replayed: true };
  }

  /** What cannot be written now shows to others as silence. */
  async function whileSeen<Result>(run: Run, work: () => Promise<Result>): Promise<Result> {
    const timer = setInterval(() => void seen(run).catch(() => {}), SEEN_EVERY_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      await end(run).catch(() => {});
    }
  }

  return {
    async once<Value, Code extends string>(
      { caller, idempotency: scope }: Pick<ChangeCall, 'caller' | 'idempotency'>,
      work: () => Promise<Once<Value, Code>>,
    ): Promise<Once<Value, Code>> {
      if (scope === null) return work();
      const run = { runId: ids.next('run'), scope };
      for (let sign: SignOfLife | null = null; ; ) {
        const stored = await known<Value, Code>(scope);
        if (stored !== null) return stored;
        const seenAt = await begins(run, sign);
        // Whoever was at it before may have come to its end since.
        if (seenAt === null) return whileSeen(run, async () => (await known<Value, Code>(scope)) ?? work());
        sign = seenOnceMore(sign, seenAt);
        if (clock.now() >= caller.deadlineAt) throw new CallError('E_OUTCOME_UNKNOWN');
        await sleep(LOOK_EVERY_MS);
      }
    },
    sweep: forget,
  };
}

function rowsOf(client: Needs['client']) {
  /** Null = it has begun; else the sign of life of whoever is at it. `sign`: what was seen of it so far. */
  async function begins({ runId, scope }: Run, sign: SignOfLife | null): Promise<string | null> {
    const openKey = idempotencyId(scope);
    const silentSince = sign !== null && sign.looks >= LOOKS_AT_SILENCE ? sign.seenAt : null;
    const begun = await client.$queryRawUnsafe<unknown[]>(
      `INSERT INTO universe.keyed_runs AS r (open_key, run_id, args_hash, seen_at)
       VALUES ($1, $2, $3, clock_timestamp())
       ON CONFLICT (open_key) DO UPDATE SET run_id = excluded.run_id, args_hash = excluded.args_hash, seen_at = excluded.seen_at
       WHERE r.${SILENT} AND r.seen_at::text = $4::text RETURNING 1 AS begun`,
      openKey,
      runId,
      scope.argsHash,
      silentSince,
    );
    if (begun.length > 0) return null;
    const [other] = await client.$queryRawUnsafe<{ argsHash: string; seenAt: string; isAhead: boolean }[]>(
      `SELECT args_hash AS "argsHash", seen_at::text AS "seenAt", ${isAhead('seen_at')} AS "isAhead"
       FROM universe.keyed_runs WHERE open_key = $1`,
      openKey,
    );
    if (other !== undefined && other.argsHash !== scope.argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
    if (other?.isAhead === true) await bringBack(openKey);
    return other?.seenAt ?? '';
  }

  /** Whoever is at it, if anybody is, is seen again at once. */
  const bringBack = (openKey: string) =>
    client.$executeRawUnsafe(
      `UPDATE universe.keyed_runs SET seen_at = clock_timestamp() WHERE open_key = $1 AND ${isAhead('seen_at')}`,
      openKey,
    );
  const seen = ({ runId, scope }: Run) =>
    client.$executeRawUnsafe(
      'UPDATE universe.keyed_runs SET seen_at = clock_timestamp() WHERE open_key = $1 AND run_id = $2',
      idempotencyId(scope),
      runId,
    );
  const end = ({ runId, scope }: Run) =>
    client.$executeRawUnsafe(
      'DELETE FROM universe.keyed_runs WHERE open_key = $1 AND run_id = $2',
      idempotencyId(scope),
      runId,
    );
  const forget = async (): Promise<void> => {
    await client.$executeRawUnsafe(`DELETE FROM universe.keyed_runs WHERE ${FORGOTTEN}`);
  };
  return { begins, seen, end, forget };
}
