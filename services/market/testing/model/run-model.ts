/** Random sequences of what people do in the market. */
import { deepStrictEqual } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Database } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import * as fc from 'fast-check';
import { readViolations } from '../../src/store/invariants.ts';
import type { MarketBed } from '../market-store-bed.ts';
import {
  acting,
  buying,
  comingLate,
  crowding,
  lapsing,
  leaving,
  offering,
  passing,
  racing,
  rushing,
  sweeping,
  type Way,
} from './commands.ts';
import { type Act, AGENTS, ReferenceMarket, WINDOW_MS } from './reference-market.ts';
import { RealMarket } from './real-market.ts';

export interface ModelPlace {
  readonly pool: Database['pool'];
  readonly bed: MarketBed;
}

export interface ModelOptions {
  readonly sequences: number;
  readonly maxSteps: number;
  readonly seed?: number;
  /** Whether a failing sequence is made shorter first; true when absent. */
  readonly shrink?: boolean;
}

const agent = fc.constantFrom(...AGENTS);
const at = fc.nat({ max: 20 });
const act = fc.constantFrom<Act>('complete', 'cancel', 'deliver', 'deliver', 'confirm', 'refute');
const way = fc.constantFrom<Way>('once', 'once', 'once', 'twice with a key', 'question lost', 'answer lost');
const again = fc.boolean();
const listing = fc.record({
  seller: agent,
  supply: fc.constantFrom(1, 1, 2, 5),
  price: fc.constantFrom(0, 20, 40, 60),
  kind: fc.constantFrom('plain' as const, 'skill' as const),
  unsettled: fc.constantFrom('confirm' as const, 'refute' as const),
});
const listed = listing.map(offering);
const bought = fc.record({ at, buyer: agent, way, again }).map(buying);
const acted = fc.record({ trade: at, act, agent, way, again }).map(acting);
const crowd = fc.array(fc.record({ act, agent }), { minLength: 2, maxLength: 6 });
/** No sum of them comes near the end of a window: the clock of the database goes on meanwhile. */
const passes = fc.constantFrom(Math.round(WINDOW_MS * 0.4), Math.round(WINDOW_MS * 1.2)).map(passing);
const COMMANDS = [
  listed,
  bought,
  bought,
  acted,
  acted,
  acted,
  fc.tuple(at, crowd).map(([trade, racers]) => racing(trade, racers)),
  fc.tuple(at, fc.integer({ min: 2, max: 5 })).map(([place, count]) => rushing(place, count)),
  fc.tuple(agent, fc.integer({ min: 2, max: 3 })).map(([seller, supply]) => crowding(seller, supply)),
  fc.oneof(
    at.map(lapsing),
    at.map(leaving),
    fc.tuple(at, act).map(([trade, one]) => comingLate(trade, one)),
    fc.constant(sweeping),
    passes,
  ),
];

/** Throws with the shortest sequence that it finds on which the market and the reference differ. */
export async function runModel(place: ModelPlace, { sequences, maxSteps, seed, shrink = true }: ModelOptions) {
  const run = randomBytes(3).toString('hex');
  let sequence = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: maxSteps, size: 'max' }), async (commands) => {
      sequence += 1;
      const real = await RealMarket.begin(place.bed, place.pool, `m${run}n${sequence}x`);
      await fc.asyncModelRun(() => ({ model: new ReferenceMarket(), real }), commands);
    }),
    { numRuns: sequences, endOnFailure: !shrink, ...(seed === undefined ? {} : { seed }) },
  );
  const everything = { closedWithinMs: null, graceMs: 0 };
  deepStrictEqual(await readViolations(poolClient(place.pool), place.bed.ports.money, everything), []);
}
