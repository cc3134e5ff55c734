/** The one seam to PostgreSQL: a `pg.Pool`, embedded (PGlite) or a server, and what every store needs on top of it. */
import type { Pool } from 'pg';
import type { Query, Snapshot } from './snapshot.ts';

export interface Database {
  readonly name: 'database' | 'postgresql';
  /** `process-crash`: an acknowledged write survives a killed process but not a power cut; `full`: both. */
  readonly durability: 'full' | 'process-crash';
  /** No other process uses it, so what was read once changes only through this one. */
  readonly exclusive: boolean;
  readonly pool: Pool;
  /** What these find at one moment, for whoever takes long to read it. It is ended by whoever asked for it. */
  snapshot(queries: readonly Query[]): Promise<Snapshot>;
  /** Whether it takes writes. Throws when it does not answer within `timeoutMs`. */
  ping(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** SQL written by hand, on a pool or inside a transaction. */
export interface SqlClient {
  $queryRawUnsafe<Rows = unknown>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}
