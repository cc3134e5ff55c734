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
  /** Of a change that this process tried it is open whether it was made. */
  doubted(): void;
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
  let doubts = 0;

  async function fromDatabase(): Promise<RevisionNow> {
    const [row] = await client.$queryRawUnsafe<(StampRow & { at: number })[]>(READ);
    assertStamped(row);
    return { stamp: stampOf(row), at: row.at };
  }

  function committed(stamp: RegistryStamp): void {
    if (known === null || stamp.rev > known.rev) known = stamp;
  }

  return {
    async read() {
      if (!exclusive) return fromDatabase();
      if (known !== null) return { stamp: known, at: clock.now() };
      const before = doubts;
      const { stamp } = await fromDatabase();
      // What came into doubt meanwhile may be newer than what was read.
      if (doubts === before) committed(stamp);
      return { stamp: known ?? stamp, at: clock.now() };
    },
    committed,
    doubted() {
      doubts += 1;
      known = null;
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
