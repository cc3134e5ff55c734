/**
 * Audit entries leave a service through a table: written in the transaction of the change, handed over to the audit's
 * chains, deleted when they are there. Handed over again until they are taken; the chains take each id once.
 */
import { MAX_AUDIT_POST, type PostedAuditEntry } from '@svc/contract/audit.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { WrittenAuditEntry } from './audit.ts';
import type { SqlClient } from './database.ts';
import type { Platform } from './platform.ts';
import { createOperationClient, type OperationClient } from './operations.ts';
import { repeatSpaced } from './turns.ts';

export interface AuditRelay {
  /** Hands over what is written, soon. */
  kick(): void;
  /** Hands over what is written by now; gives up when nobody takes it. Does not throw. */
  flush(): Promise<void>;
  /** Begins to look for entries by itself, also those that another process left. */
  start(): void;
  /** Hands over the rest if it can, then stops. */
  close(): Promise<void>;
}

interface AuditRelayOptions {
  readonly schema: string;
  readonly client: SqlClient;
  /** No other process relays the same table. */
  readonly exclusive: boolean;
  /** Runs `work` in one transaction. */
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
  readonly platform: Pick<Platform, 'bus' | 'clock' | 'log'>;
}

/** What another process left, or the audit did not take, waits for this long at most. */
const LOOK_MS = 1000;
/** No other process writes, and whoever writes kicks: it is only to try again. */
const EXCLUSIVE_LOOK_MS = 5000;
/** What is written soon after a round goes together in the next one. */
const SPACE_MS = 100;
/** Well below what the bus carries in one message. */
const MAX_POST_BYTES = 512 * 1024;

export function createAuditRelay(options: AuditRelayOptions): AuditRelay {
  const { client, schema, exclusive, platform } = options;
  const habitat = createOperationClient<typeof HABITAT, string>(platform, HABITAT, schema);
  let timer: NodeJS.Timeout | null = null;
  const { kick, flush } = repeatSpaced(async () => {
    try {
      while (await hasEntries(client, schema)) if (!(await handOver(options, habitat))) break;
    } catch (error) {
      platform.log.debug({ err: error, schema }, 'audit entries wait');
    }
  }, SPACE_MS);

  return {
    kick,
    flush,
    start() {
      timer = setInterval(kick, exclusive ? EXCLUSIVE_LOOK_MS : LOOK_MS);
    },
    async close() {
      if (timer !== null) clearInterval(timer);
      await flush();
    },
  };
}

async function hasEntries(client: SqlClient, schema: string): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<unknown[]>(`SELECT 1 AS waiting FROM "${schema}".audit_batches LIMIT 1`);
  return rows.length > 0;
}

/**
 * Hands over the oldest entries; false = there were none. Other processes keep off them meanwhile. An exclusive database
 * has one connection, which the chains need to take the entries, so there the transaction is left out.
 */
function handOver(
  { client, schema, exclusive, transact }: AuditRelayOptions,
  habitat: Pick<OperationClient<typeof HABITAT, string>, 'audit'>,
): Promise<boolean> {
  const work = async (connection: SqlClient): Promise<boolean> => {
    const rows = await readOldest(connection, schema, exclusive ? '' : 'FOR UPDATE SKIP LOCKED');
    if (rows.length === 0) return false;
    const entries = rows.flatMap(({ at, entries: written }) =>
      written.map((entry): PostedAuditEntry => ({ ...entry, at })),
    );
    await habitat.audit({ entries });
    await connection.$executeRawUnsafe(
      `DELETE FROM "${schema}".audit_batches WHERE id = ANY($1::text[])`,
      rows.map(({ id }) => id),
    );
    return true;
  };
  return exclusive ? work(client) : transact(work);
}

interface AuditRow {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly entries: readonly WrittenAuditEntry[];
}

/** As many as may be sent at once; one row always fits. */
function readOldest(client: SqlClient, schema: string, lock: string): Promise<AuditRow[]> {
  return client.$queryRawUnsafe<AuditRow[]>(
    `WITH oldest AS (
       SELECT id, sum(count) OVER through AS entries, sum(bytes) OVER through AS bytes
       FROM (SELECT id, count, bytes, written FROM "${schema}".audit_batches ORDER BY written LIMIT ${MAX_AUDIT_POST}) waiting
       WINDOW through AS (ORDER BY written)
     )
     SELECT id, entries, (extract(epoch FROM at) * 1000)::float8 AS at FROM "${schema}".audit_batches
     WHERE id IN (SELECT id FROM oldest WHERE entries <= ${MAX_AUDIT_POST} AND bytes <= ${MAX_POST_BYTES})
     ORDER BY written ${lock}`,
  );
}
