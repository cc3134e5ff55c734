/** Random sequences of steps on the real store, each compared with the reference at once: answers, rows and events. */
import { deepStrictEqual, fail } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import type { Clock } from '@svc/runtime/clock.ts';
import type { Database } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { sweepHolds } from '../../src/store/hold-sweep.ts';
import { readViolations } from '../../src/store/invariants.ts';
import type { LedgerStore } from '../../src/store/ledger-store.ts';
import type { MoveCall } from '../../src/store/move.ts';
import { assertSameState, lastEvent, type Sequence } from './compare.ts';
import { ReferenceLedger, type ReferencePayer, type Said } from './reference-ledger.ts';
import { BUDGETS, OWNERS, perform, POOL, refer, type Step } from './steps.ts';

/** Two stores on one database, as two processes have them. */
export interface ModelPlace {
  readonly pool: Database['pool'];
  readonly ledgers: readonly [LedgerStore, LedgerStore];
  readonly clock: Clock;
}

export interface ModelOptions {
  readonly sequences: number;
  readonly maxSteps: number;
  readonly seed?: number;
  /** Whether a failing sequence is made shorter first; true when absent. */
  readonly shrink?: boolean;
}

interface Real extends ModelPlace, Sequence {
  readonly entryIds: string[];
  turn: number;
  /** How many times several have come at once. */
  crowd: number;
}

type Way = 'once' | 'twice with a key' | 'all at once' | 'all at once, apart';

const AT_ONCE = 6;
const PATIENCE_MS = 60_000;

class Performed implements fc.AsyncCommand<ReferenceLedger, Real> {
  readonly #step: Step;
  readonly #way: Way;

  constructor(step: Step, way: Way) {
    this.#step = step;
    this.#way = way;
  }

  check(): boolean {
    return true;
  }

  toString(): string {
    return `${this.#way}: ${JSON.stringify(this.#step)}`;
  }

  async run(reference: ReferenceLedger, real: Real): Promise<void> {
    if (this.#way === 'twice with a key') await this.#runKeyed(reference, real);
    else await this.#runTimes(reference, real, this.#way === 'once' ? 1 : AT_ONCE);
    await assertSameState(real.pool, real, reference);
  }

  async #runTimes(reference: ReferenceLedger, real: Real, times: number): Promise<void> {
    real.crowd += 1;
    const steps = Array.from({ length: times }, (_, turn) => this.#stepAt(real.crowd, turn));
    const wanted = steps.map((step) => refer(step, reference));
    const done = await Promise.all(steps.map((step) => perform(step, nextLedger(real), callAt(real), real)));
    real.entryIds.push(...done.flatMap(({ entryId }) => (entryId === null ? [] : [entryId])));
    deepStrictEqual(counted(done.map(({ said }) => said)), counted(wanted));
  }

  /**
   * All the same, but for holds that are each to have an id of their own. Which of a crowd are granted is left open, so no
   * later crowd may ask for their ids again: whether those are free would be left open too.
   */
  #stepAt(crowd: number, turn: number): Step {
    const step = this.#step;
    const isApart = this.#way === 'all at once, apart' && step.kind === 'hold';
    return isApart ? { ...step, id: `${step.id}-${crowd}-${turn}` } : step;
  }

  /** Twice at once and once more: one effect, one outcome. */
  async #runKeyed(reference: ReferenceLedger, real: Real): Promise<void> {
    const wanted = refer(this.#step, reference);
    const scope = { principal: 'model', tool: this.#step.kind, key: randomBytes(9).toString('hex'), argsHash: 'h' };
    const again = () => perform(this.#step, nextLedger(real), callAt(real, scope), real);
    const done = [...(await Promise.all([again(), again()])), await again()];
    real.entryIds.push(...done.flatMap(({ entryId }) => (entryId === null ? [] : [entryId])));
    deepStrictEqual(
      done.map(({ said }) => said),
      [wanted, wanted, wanted],
    );
    deepStrictEqual(done.filter(({ replayed }) => !replayed).length, 1);
  }
}

function nextLedger(real: Real): LedgerStore {
  real.turn += 1;
  return real.ledgers[real.turn % 2 === 0 ? 0 : 1];
}

function callAt({ clock }: Real, idempotency: MoveCall['idempotency'] = null): MoveCall {
  return { deadlineAt: clock.now() + PATIENCE_MS, idempotency, subject: { agentId: 'model', verified: false } };
}

function counted(said: readonly Said[]): string[] {
  return said.map((one) => JSON.stringify(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))).sort();
}

/** Time goes by when the rows are made older. */
class Passed implements fc.AsyncCommand<ReferenceLedger, Real> {
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  check(): boolean {
    return true;
  }

  toString(): string {
    return `${this.#ms} ms pass`;
  }

  async run(reference: ReferenceLedger, { pool, prefix }: Real): Promise<void> {
    reference.pass(this.#ms);
    await pool.query(
      `UPDATE escrow.holds SET held_at = held_at - $2 * interval '1 ms', expires_at = expires_at - $2 * interval '1 ms'
       WHERE owner = ANY($1::text[])`,
      [OWNERS.map((name) => prefix + name), this.#ms],
    );
  }
}

/** Whole credits, tenths and the smallest parts: what binary fractions cannot hold. */
const AMOUNTS = [1, 333_333, 100_000, 100_000, 100_000, 200_000, 700_000, 1_000_000, 1_100_000, 2_500_000, 5_000_000];
const LIMITS = [0, 300_000, 300_000, 700_000, 1_000_000, 3_300_001, 10_000_000, 25_000_000];
/** No sum of passed times comes within 10 s of the end of a hold. */
const TTLS_MS = [50_000, 110_000];
const PASSES_MS = [20_000, 60_000];

const account = fc.constantFrom(...BUDGETS, POOL, POOL);
const budget = fc.constantFrom(...BUDGETS);
const agent = fc.constantFrom('m1', 'm2');
const amount = fc.constantFrom(...AMOUNTS);
const limit = fc.constantFrom(...LIMITS);
const ref = fc.constantFrom('r1', 'r2', 'r3', 'r4');
const owner = fc.constantFrom(...OWNERS);
/** Ids of services are closed to callers. */
const serviceHoldId = fc.constantFrom('s1', 's2', 's3');
const callerHoldId = fc.constantFrom('c1', 'c2');
const anyHoldId = fc.oneof(serviceHoldId, callerHoldId);
const payee = fc.constantFrom('a', 'b', 'd', 'sink:model', 'sink:other');
const payer: fc.Arbitrary<ReferencePayer> = fc.oneof(
  fc.record({ account: budget, member: fc.constant(null) }),
  fc.record({ account: fc.constant(POOL), member: agent }),
);

function stepOf<Kind extends Step['kind']>(
  kind: Kind,
  fields: { [Field in keyof Omit<Extract<Step, { kind: Kind }>, 'kind'>]: fc.Arbitrary<unknown> },
): fc.Arbitrary<Step> {
  return fc.record({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Step>;
}

const held = {
  payer: fc.option(payer, { freq: 9 }),
  amount: fc.constantFrom(0, ...AMOUNTS),
  owner,
  ttlMs: fc.constantFrom(...TTLS_MS),
};
const late = fc.constantFrom(false, false, false, false, false, true);
const part = fc.option(amount, { freq: 1 });
const STEP = fc.oneof(
  { weight: 3, arbitrary: stepOf('set-limit', { account, limit }) },
  { weight: 1, arbitrary: stepOf('set-member-limit', { agent, limit: fc.option(limit) }) },
  { weight: 1, arbitrary: stepOf('open', { account: budget, limit, ref }) },
  { weight: 5, arbitrary: stepOf('debit', { payer, amount, payee, ref: fc.option(ref) }) },
  { weight: 4, arbitrary: stepOf('hold', { ...held, late, id: serviceHoldId, service: fc.constant(true) }) },
  {
    weight: 3,
    arbitrary: stepOf('hold', { ...held, late: fc.constant(false), id: callerHoldId, service: fc.constant(false) }),
  },
  { weight: 4, arbitrary: stepOf('capture', { id: serviceHoldId, amount: part, payee, owner }) },
  { weight: 2, arbitrary: stepOf('void', { id: serviceHoldId, owner }) },
  { weight: 3, arbitrary: stepOf('release', { id: anyHoldId, owner, operator: fc.boolean() }) },
  { weight: 3, arbitrary: stepOf('refund', { index: fc.nat({ max: 5 }), amount: part, ref }) },
);
const WAY = fc.constantFrom<Way>('once', 'once', 'once', 'twice with a key', 'all at once', 'all at once, apart');

const APART = stepOf('hold', { ...held, late: fc.constant(false), id: serviceHoldId, service: fc.constant(true) });
const ANY_STEP = fc.tuple(STEP, WAY).map(([step, way]) => new Performed(step, way));
const COMMANDS = [
  ANY_STEP,
  ANY_STEP,
  ANY_STEP,
  // Reservations meet on one account more often than chance would have it: nothing but its lock keeps them apart.
  fc.oneof(
    fc.constantFrom(...PASSES_MS).map((ms) => new Passed(ms)),
    APART.map((step) => new Performed(step, 'all at once, apart')),
  ),
];

/** Throws with the shortest sequence that it finds on which the store and the reference differ. */
export async function runModel(
  place: ModelPlace,
  { sequences, maxSteps, seed, shrink = true }: ModelOptions,
): Promise<void> {
  const run = randomBytes(3).toString('hex');
  let sequence = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: maxSteps, size: 'max' }), async (commands) => {
      sequence += 1;
      const real: Real = {
        ...place,
        prefix: `p${run}n${sequence}x`,
        firstEvent: await lastEvent(place.pool),
        entryIds: [],
        turn: 0,
        crowd: 0,
      };
      await fc.asyncModelRun(() => ({ model: new ReferenceLedger(), real }), commands);
    }),
    { numRuns: sequences, endOnFailure: !shrink, ...(seed === undefined ? {} : { seed }) },
  );
  const client = poolClient(place.pool);
  const error = (said: unknown): void => fail(String(said));
  await sweepHolds(client, place.ledgers[0], { clock: place.clock, log: { error } });
  deepStrictEqual(await readViolations(client), []);
}
