/** Trades held against their listings and against the ledger: what contradicts is told and counted, never mended. */
import { CallError } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { Money } from '../ports.ts';
import { readViolations, type Violation } from './invariants.ts';
import type { MarketStore } from './trade-events.ts';

export interface MarketAudit {
  /** Looks at what is open and at what was closed of late; answers what it found, null while the ledger is away. */
  run(): Promise<readonly Violation[] | null>;
  /** Whether the last look, of whichever process, found nothing. */
  holds(): Promise<boolean>;
}

interface Parts {
  readonly store: MarketStore;
  readonly money: Pick<Money, 'states' | 'live'>;
  readonly platform: Pick<Platform, 'log' | 'metrics'>;
}

/** What was closed before was looked at when it was new: cost follows what changed. */
const CLOSED_WITHIN_MS = 25 * 3_600_000;
const MAX_NAMED = 20;
const NOBODY: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

export function createMarketAudit({ store, money, platform }: Parts): MarketAudit {
  const { log, metrics } = platform;
  const lastFound = () => readLastFound(store.client);
  metrics.gauge(
    'svc_market_contradictions',
    'Trades, listings and holds that contradict each other.',
    [],
    async (gauge) => gauge.set(await lastFound()),
  );
  return {
    async run() {
      let found: readonly Violation[];
      try {
        found = await readViolations(store.client, money, { closedWithinMs: CLOSED_WITHIN_MS });
      } catch (error) {
        if (!(error instanceof CallError) || error.code === 'INTERNAL') throw error;
        log.warn({ code: error.code }, 'trades could not be held against the ledger');
        return null;
      }
      for (const violation of found) log.error({ violation }, 'a trade contradicts its listing or its hold');
      await note(store.client, found.length);
      if (found.length > 0) await tell(store, found);
      return found;
    },
    holds: async () => (await lastFound()) === 0,
  };
}

/** One process looks each hour, and all of them tell what it found. */
async function note(client: SqlClient, found: number): Promise<void> {
  await client.$executeRawUnsafe(
    `INSERT INTO market.last_audit (id, at, found) VALUES (1, clock_timestamp(), $1)
     ON CONFLICT (id) DO UPDATE SET at = excluded.at, found = excluded.found`,
    found,
  );
}

async function readLastFound(client: SqlClient): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ found: number }[]>('SELECT found FROM market.last_audit');
  return row?.found ?? 0;
}

async function tell({ change }: Pick<MarketStore, 'change'>, found: readonly Violation[]): Promise<void> {
  const named = found.slice(0, MAX_NAMED).map(({ invariant, id }) => `${invariant} ${id}`);
  await change(NOBODY, async ({ audit }) => {
    audit({ event: 'market:contradicted', workspace: null, data: { count: found.length, named } });
    return allow(null);
  });
}
