/** Money moves while the processes of the ledger are killed. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { readTotals, withLedger } from '../instruments/ledger-rows.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { connectPayingService, type EscrowReply, type PayingService } from '../instruments/paying-service.ts';
import { untilAnswered } from '../instruments/persistent-calls.ts';
import { budgetOf, memberFunds, poolFunds } from '../instruments/pools.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { BANK_SECONDS, LEDGER_KILL_ROUNDS } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { logsOf } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });
const CREDIT = 1_000_000;
const WORKERS = 6;
const MOVES_BEFORE_KILL = 15;

interface Work {
  readonly operator: Caller;
  readonly random: Random;
  readonly workspaceId: string;
  /** Bus of a cluster. */
  readonly market: PayingService | null;
  readonly org: string;
  /** Answers that are neither a success nor a reason to send again. */
  readonly problems: string[];
  /** Micro-credits that were said to be spent: of the pool, of the organisation. */
  readonly spent: { pool: number; org: number };
  moves: number;
  over: boolean;
}

/** One call that is sent until it is answered, and takes effect once. */
async function once(work: Work, tool: string, args: Fields, expected: Fields): Promise<void> {
  const content = await work.operator
    .program(work.random.int(0, 2))
    .callNamed(tool, args)
    .catch((error: unknown) => ({ error: String(error) }));
  const fits = Object.entries(expected).every(([field, value]) => (content as Fields)[field] === value);
  if (!fits) work.problems.push(`${tool} ${JSON.stringify(args)}: ${JSON.stringify(content)}`);
  work.moves += 1;
}

async function draw(work: Work, agentId: string): Promise<void> {
  const micros = work.random.int(1, 3 * CREDIT);
  work.spent.pool += micros;
  const args = { workspaceId: work.workspaceId, agentId, amount: micros / CREDIT };
  await once(work, 'escrow_workspaceRecordSpend', args, { recorded: true });
}

async function holdAndRelease(work: Work): Promise<void> {
  const holdId = newName('h');
  await once(work, 'escrow_hold', { holdId, condition: { org: work.org, amount: 2.5 } }, { held: true, reserved: 2.5 });
  await once(work, 'escrow_release', { holdId }, { released: true });
}

async function holdAndCapture(work: Work, market: PayingService): Promise<void> {
  const holdId = `trade:${newName('t')}`;
  const micros = work.random.int(1, CREDIT);
  const steps = [
    () => market.ask('hold', tradeOf(work.org, holdId), { withinMs: 2000 }),
    () => market.ask('capture', { holdId, amount: micros / CREDIT }, { withinMs: 2000 }),
  ];
  for (const step of steps) {
    const reply = await untilAnswered(step, isUnanswered);
    if (!reply.ok) work.problems.push(JSON.stringify(reply));
    work.moves += 1;
  }
  work.spent.org += micros;
}

const tradeOf = (org: string, holdId: string) => ({
  holdId,
  payer: { org },
  amount: 1,
  ttlMs: 600_000,
  condition: null,
});

function isUnanswered(reply: EscrowReply): boolean {
  return !reply.ok && ['SERVICE_UNAVAILABLE', 'TIMEOUT', 'E_BUSY'].includes(reply.code);
}

async function keepMoving(work: Work, worker: number): Promise<void> {
  for (let step = 0; !work.over; step += 1) {
    if (worker === 0 && work.market !== null) await holdAndCapture(work, work.market);
    else if (step % 3 === 0) await holdAndRelease(work);
    else await draw(work, `${work.workspaceId}-${worker}`);
  }
}

verifies(
  'escrow:killed',
  async ({ random, report }) => {
    const { place, escrows, gateways } = target.get();
    const operator = new Caller(place);
    // While processes are killed: it asks again sooner.
    const impatient = new Caller(place, { headers: { 'x-svc-timeout-ms': '2000' } });
    const members = await createMembers(place, 'admin');
    const { workspace: workspaceId } = members;
    const org = newName('o');
    await operator.ok('escrow_create', { org, budget: 1_000_000 });
    const limit = { workspaceId, amount: 1_000_000, adminId: memberAt(members, 0).id };
    await operator.ok('escrow_setWorkspaceBudget', limit);
    const market = place.kind === 'cluster' ? await connectPayingService(place) : null;
    const spent = { pool: 0, org: 0 };
    const work: Work = {
      operator: impatient,
      random,
      workspaceId,
      market,
      org,
      problems: [],
      spent,
      moves: 0,
      over: false,
    };
    const working = Promise.all(Array.from({ length: WORKERS }, (_, worker) => keepMoving(work, worker)));
    for (let round = 0; round < LEDGER_KILL_ROUNDS; round += 1) {
      const before = work.moves;
      const isUnderWay = () => work.moves >= before + MOVES_BEFORE_KILL;
      await waitFor(isUnderWay, { what: 'money to move' });
      await delay(random.int(0, 200));
      const victims = random.int(0, 2) === 0 ? escrows : [random.pick(escrows)];
      await killed(victims);
      for (const one of gateways) await one.ready();
    }
    work.over = true;
    await working;
    await market?.close();
    await target.get().whole();
    expect(work.problems).toEqual([]);
    expect(await poolFunds(operator, workspaceId)).toMatchObject({ spent: spent.pool / CREDIT, pending: 0 });
    const drawn = [...(await memberFunds(operator, workspaceId)).values()];
    expect(Math.round(drawn.reduce((sum, one) => sum + one.spent * CREDIT, 0))).toBe(spent.pool);
    expect(await budgetOf(operator, org)).toMatchObject({ spent: spent.org / CREDIT, pending: 0 });
    expect(await withLedger(target.get(), readTotals)).toMatchObject({ sum: 0 });
    // It was held against its entries at each start; others before may have broken accounts of theirs on purpose.
    const contradictions = logsOf(place)
      .split('\n')
      .filter((line) => line.includes('the ledger contradicts its entries'));
    expect(contradictions.filter((line) => line.includes(workspaceId) || line.includes(`"${org}"`))).toEqual([]);
    report(`${work.moves} moves over ${LEDGER_KILL_ROUNDS} kills, none lost, none twice`);
  },
  { on: target, timeoutMs: 300_000 + LEDGER_KILL_ROUNDS * 20_000 },
);

const CLIENTS = 16;
const ORGS = 10;
const KILL_EVERY_MS = 3000;
const MUCH_WITHIN_MS = 120_000;

/** Of each organisation, in micro-credits, what the clients were told. */
type Told = Map<string, { spent: number; earned: number }>;

/** Moves random sums until told to stop; each transfer is sent until it is answered. */
async function transfer(market: PayingService, { random, told, isOver, counts }: Banking): Promise<void> {
  const orgs = [...told.keys()];
  while (!isOver()) {
    const [from, to] = [random.pick(orgs), random.pick(orgs)];
    const micros = random.int(1, 200 * CREDIT);
    const body = { payer: { org: from }, amount: micros / CREDIT, payee: to, ref: newName('ref') };
    const reply = await untilAnswered(() => market.ask('debit', body, { withinMs: 2000 }), isUnanswered);
    counts[reply.ok ? 'moved' : reply.code] = (counts[reply.ok ? 'moved' : reply.code] ?? 0) + 1;
    const [payer, payee] = [told.get(from), told.get(to)];
    if (!reply.ok || payer === undefined || payee === undefined) continue;
    payer.spent += micros;
    payee.earned += micros;
  }
}

interface Banking {
  readonly random: Random;
  readonly told: Told;
  readonly counts: Record<string, number>;
  isOver(): boolean;
}

verifies(
  'escrow:bank',
  async ({ random, report }) => {
    const { place, escrows } = target.get();
    const operator = new Caller(place);
    const told: Told = new Map(Array.from({ length: ORGS }, () => [newName('org'), { spent: 0, earned: 0 }]));
    for (const org of told.keys()) await operator.ok('escrow_create', { org });
    const market = await connectPayingService(place);
    const counts: Record<string, number> = {};
    const snapshots: { sum: number; least: number }[] = [];
    let [kills, isOver] = [0, false];
    const banking: Banking = { random, told, counts, isOver: () => isOver };
    /** A machine that is busy moves less in the same time. */
    const hasShownMuch = () => kills > 1 && snapshots.length > 20 && (counts['moved'] ?? 0) > 50;
    const watching = withLedger(target.get(), async (pool) => {
      while (!banking.isOver()) {
        snapshots.push(await readTotals(pool));
        await delay(20);
      }
    });
    const working = Promise.all([watching, ...Array.from({ length: CLIENTS }, () => transfer(market, banking))]);
    const shortest = performance.now() + BANK_SECONDS * 1000 - KILL_EVERY_MS / 2;
    const isTimeFor = (now: number) => now < shortest || (!hasShownMuch() && now < shortest + MUCH_WITHIN_MS);
    try {
      while (isTimeFor(performance.now())) {
        await Promise.race([delay(KILL_EVERY_MS / 2), working]);
        await killed([random.pick(escrows)]);
        kills += 1;
        await delay(KILL_EVERY_MS / 2);
      }
    } finally {
      isOver = true;
    }
    await working;
    expect(hasShownMuch(), JSON.stringify([kills, snapshots.length, counts])).toBe(true);
    await target.get().whole();
    expect(snapshots.filter(({ sum, least }) => sum !== 0 || !(least >= 0))).toEqual([]);
    expect(Object.keys(counts).filter((code) => code !== 'moved' && code !== 'E_BUDGET')).toEqual([]);
    for (const [org, { spent, earned }] of told) {
      expect(await budgetOf(operator, org)).toMatchObject({
        spent: spent / CREDIT,
        earned: earned / CREDIT,
        pending: 0,
      });
    }
    await market.close();
    report(`bank: ${JSON.stringify(counts)} over ${kills} kills, ${snapshots.length} snapshots balanced`);
  },
  { on: target, only: 'cluster', timeoutMs: 300_000 + BANK_SECONDS * 2000 },
);
