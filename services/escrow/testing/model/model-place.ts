/** Two stores on one database. Nothing relays their events, so that each stays where it is counted. */
import type { Database } from '@svc/runtime/database.ts';
import { openStoreBed } from '../escrow-store-bed.ts';
import { LedgerStore } from '../../src/store/ledger-store.ts';
import type { ModelPlace } from './run-model.ts';

export async function openModelPlace(database: Database): Promise<ModelPlace> {
  const { base, platform } = await openStoreBed(database);
  const quiet = { ...base, outbox: { ...base.outbox, kick() {} } };
  const ledgers = [new LedgerStore(quiet, platform), new LedgerStore(quiet, platform)] as const;
  return { pool: database.pool, ledgers, clock: platform.clock };
}
