/** The market's store beside the real ledger and the real registry, all on one database, with a bus that can fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import { MARKET_EVENTS } from '@svc/contract/events.market.ts';
import { escrowService } from '@svc/escrow/service.ts';
import { habitatService } from '@svc/habitat/service.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { openStore } from '@svc/runtime/store.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { createPorts, type Money, type Ports } from '../src/ports.ts';
import { createRegistry } from '../src/registry.ts';
import { createLapsing } from '../src/store/lapsing.ts';
import { createReconciler, type Reconciler } from '../src/store/reconciler.ts';
import { createSettling } from '../src/store/settling.ts';
import type { MarketStore } from '../src/store/trade-events.ts';
import { createTradeMoves } from '../src/store/trade-moves.ts';
import { createTradeReports } from '../src/store/trade-reports.ts';
import { createTradeSteps } from '../src/store/trade-steps.ts';
import { createTradeStore, type TradeStore } from '../src/store/trade-store.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');

/** What the bus does with questions to the ledger: carries them, loses the question, or loses the answer. */
export type Carried = 'well' | 'question lost' | 'answer lost';

const MONEY_MOVES = ['hold', 'capture', 'void', 'debit'] as const;
export type MoneyMove = (typeof MONEY_MOVES)[number];

export interface MarketBed {
  readonly platform: Platform;
  readonly base: MarketStore;
  readonly trades: TradeStore;
  /** The same as another process has it: it shares nothing but the database. */
  readonly elsewhere: TradeStore;
  readonly reconciler: Reconciler;
  /** Without faults. */
  readonly ports: Ports;
  /** `which`: of these operations of the ledger; absent = of all. */
  carry(how: Carried, which?: readonly MoneyMove[]): void;
  /** A tool of the ledger, as the operator. */
  escrow(tool: string, args: Fields): Promise<Fields>;
  stop(): Promise<void>;
}

/** `variables`: of the environment of all of them. */
export async function openMarketBed(
  database: Database,
  variables: Readonly<Record<string, string>> = {},
): Promise<MarketBed> {
  const dataDir = mkdtempSync(join(tmpdir(), 'market-'));
  const platform = platformOn(database, {}, { SVC_DATA_DIR: dataDir, ...variables });
  const habitat = await startService(platform, habitatService);
  const escrow = await startService(platform, escrowService);
  const base = await openStore(platform, { service: 'market', events: MARKET_EVENTS, migrations: MIGRATIONS });
  const ports = createPorts(platform);
  let carried: Carried = 'well';
  let affected: readonly MoneyMove[] = MONEY_MOVES;
  const money = faulty(ports.money, (move) => (affected.includes(move) ? carried : 'well'));
  const { clock } = platform;
  const registry = createRegistry(platform);
  const isLapsed = createLapsing({ store: base, trust: ports.trust, registry, clock });
  const storeOfOne = () => {
    const move = createTradeMoves(base, clock);
    const steps = createTradeSteps(base, clock);
    const reports = createTradeReports({ store: base, trust: ports.trust, clock, log: platform.log });
    const unpaid = platform.metrics.counter('svc_market_unpaid_total', 'As in the service.');
    const parts = { store: base, ports: { money }, move, steps, reports, log: platform.log, unpaid };
    const settling = createSettling(parts);
    return {
      move,
      settling,
      trades: createTradeStore({ store: base, isLapsed, move, steps, settling, clock }),
    };
  };
  const { move, settling, trades } = storeOfOne();
  return {
    platform,
    base,
    trades,
    elsewhere: storeOfOne().trades,
    reconciler: createReconciler({ store: base, isLapsed, move, settling, clock, log: platform.log }),
    ports,
    carry(how, which = MONEY_MOVES) {
      carried = how;
      affected = which;
    },
    escrow: async (tool, args) => (await callTool(platform.bus, 'escrow', tool, args)).fields,
    async stop() {
      await base.close();
      await escrow.stop();
      await habitat.stop();
      await platform.jobs.close();
      await platform.bus.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function faulty(money: Money, carried: (move: MoneyMove) => Carried): Money {
  const through =
    <Question, Answer>(move: MoneyMove, ask: (question: Question, options?: object) => Promise<Answer>) =>
    async (question: Question, options?: object): Promise<Answer> => {
      const how = carried(move);
      if (how === 'question lost') throw new CallError('SERVICE_UNAVAILABLE');
      const answer = await ask(question, options);
      if (how === 'answer lost') throw new CallError('TIMEOUT');
      return answer;
    };
  return {
    ...money,
    hold: through('hold', money.hold),
    capture: through('capture', money.capture),
    void: through('void', money.void),
    debit: through('debit', money.debit),
  };
}
