/** The ledger's store on a database of its own, for tests; more than one may work on the same database. */
import { join } from 'node:path';
import { ESCROW_EVENTS } from '@svc/contract/events.escrow.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { openStore, type ServiceStore } from '@svc/runtime/store.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { LedgerStore } from '../src/store/ledger-store.ts';
import type { MoveCall } from '../src/store/move.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');

export interface StoreBed {
  readonly platform: Platform;
  readonly base: ServiceStore;
  readonly ledger: LedgerStore;
}

export async function openStoreBed(database: Database, over: Partial<Platform> = {}): Promise<StoreBed> {
  const platform = platformOn(database, over);
  const base = await openStore(platform, { service: 'escrow', events: ESCROW_EVENTS, migrations: MIGRATIONS });
  return { platform, base, ledger: new LedgerStore(base, platform) };
}

const PATIENCE_MS = 60_000;

/** A call of nobody in particular, without a key unless one is given. */
export function callWith(over: Partial<MoveCall> = {}): MoveCall {
  return {
    deadlineAt: Date.now() + PATIENCE_MS,
    idempotency: null,
    subject: { agentId: 'tester', verified: false },
    ...over,
  };
}
