/** What the registry stands at. */
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';

interface RevisionNow {
  readonly stamp: RegistryStamp;
  /** Clock of the database, ms since the epoch. */
  readonly at: number;
}

export interface Revision {
  /** Read after this call began. */
  read(): Promise<RevisionNow>;
  /** A change that this process made. */
  committed(stamp: RegistryStamp): void;
}

interface RevisionParts {
  readonly client: SqlClient;
  /** No other process changes the rows, so what this one committed is what there is. */
  readonly exclusive: boolean;
  readonly clock: Clock;
}

export interface StampRow {
  readonly rev: bigint;
  readonly policies: bigint;
  readonly settings: bigint;
}

const READ = `SELECT rev, policies, settings, ${epochMs('clock_timestamp()')} AS at
  FROM habitat.registry_revision`;

export function createRevision({ client, exclusive, clock }: RevisionParts): Revision {
  let known: RegistryStamp | null = null;

  async function fromDatabase(): Promise<RevisionNow> {
    const [row] = await client.$queryRawUnsafe<(StampRow & { at: number })[]>(READ);
    assertStamped(row);
    return { stamp: stampOf(row), at: row.at };
  }

  return {
    async read() {
      if (!exclusive) return fromDatabase();
      known ??= (await fromDatabase()).stamp;
      return { stamp: known, at: clock.now() };
    },
    committed(stamp) {
      if (known === null || stamp.rev > known.rev) known = stamp;
    },
  };
}

/** Every statement on the registry has its row. Throws where it is missing, which is a fault of the database. */
export function assertStamped<Row>(row: Row | undefined): asserts row is Row {
  if (row === undefined) throw new Error('the row of the registry revision is missing');
}

export function stampOf({ rev, policies, settings }: StampRow): RegistryStamp {
  return { rev: Number(rev), policies: Number(policies), settings: Number(settings) };
}
