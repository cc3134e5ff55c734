/** The one seam to PostgreSQL: a `pg.Pool`, embedded (PGlite) or a server, and what every store needs on top of it. */
import type { Pool } from 'pg';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';

export interface Database {
  readonly name: 'database' | 'postgresql';
  /** `process-crash`: an acknowledged write survives a killed process but not a power cut; `full`: both. */
  readonly durability: 'full' | 'process-crash';
  /** No other process uses it, so what was read once changes only through this one. */
  readonly exclusive: boolean;
  readonly pool: Pool;
  /** Adapter for the Prisma client of one service. */
  adapter(schema: string): SqlDriverAdapterFactory;
  /** Throws when the database does not answer within `timeoutMs`. */
  ping(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** What the generated Prisma clients and their transactions have in common: enough for SQL written by hand. */
export interface SqlClient {
  $queryRawUnsafe<Rows = unknown>(sql: string, ...values: unknown[]): Promise<Rows>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}
