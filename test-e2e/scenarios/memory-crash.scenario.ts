/** kill -9 while values, addresses, lineage and documents are written; nothing acknowledged is missing, and every count is right. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { KILL_ROUNDS } from '../settings.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const WARM_UP = 12;
const target = ownTarget();

/** What was acknowledged, each with the call that finds it again and what that answers. */
interface Kept {
  readonly tool: string;
  readonly args: Fields;
  readonly found: Fields;
}

interface Round {
  readonly user: Caller;
  readonly brain: string;
  readonly kept: Kept[];
  readonly name: string;
  over: boolean;
}

type Step = (round: Round, step: number) => Promise<Kept | null>;

async function told(user: Caller, tool: string, args: Fields): Promise<Fields | null> {
  const reply = await user.call(tool, args);
  return codeOf(reply) === null ? (reply.body.result?.content as Fields) : null;
}

const STEPS: readonly Step[] = [
  async ({ user, name }, step) => {
    const key = `${name}-${step % 5}`;
    const stored = await told(user, 'svc_memory_state', { key: `${key}-${step}`, value: step });
    return (
      stored && { tool: 'svc_memory_recall', args: { key: `${key}-${step}` }, found: { found: true, value: step } }
    );
  },
  async ({ user, brain, name }, step) => {
    const data = { name, step };
    const stored = await told(user, 'brain_geo_store', { key: name, data, brain });
    return stored && { tool: 'brain_geo_load', args: { barcode: stored['barcode'] }, found: { found: true, data } };
  },
  async ({ user, name }, step) => {
    const id = `${name}-${step}`;
    const parent = step === 0 ? [] : [`${name}-${step - 1}`];
    const recorded = await told(user, 'lineage_record', { id, event: name, parent });
    return recorded && { tool: 'lineage_trace', args: { id, depth: 1 }, found: { entry: { id } } };
  },
  async ({ user, brain, name }, step) => {
    const content = `of ${name}, ${step}`;
    const args = { category: name, key: `k${step}`, content, brain };
    const stored = await told(user, 'svc_geometry_remember', args);
    return stored && { tool: 'svc_geometry_knows', args: { key: stored['barcode'], brain }, found: { known: true } };
  },
];

async function work(round: Round, step: Step): Promise<void> {
  for (let number = 0; !round.over; number += 1) {
    try {
      const kept = await step(round, number);
      if (kept === null) return; // a step of a chain that was cut off is not followed by others
      round.kept.push(kept);
    } catch {
      return;
    }
  }
}

verifies(
  'memory:crash',
  async ({ place, random, report }) => {
    const { brains, gateways } = target.get();
    const user = new Caller(place);
    const impatient = new Caller(place, { session: user.session, headers: { 'x-svc-timeout-ms': '1500' } });
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    const all: Kept[] = [];
    for (let number = 0; number < KILL_ROUNDS; number += 1) {
      const round: Round = { user: impatient, brain, kept: [], name: newName('r'), over: false };
      const working = STEPS.map((step) => work(round, step));
      await waitFor(
        () => new Set(round.kept.map(({ tool }) => tool)).size === STEPS.length && round.kept.length >= WARM_UP,
        {
          what: 'every writer to be under way',
        },
      );
      await delay(random.int(0, 200));
      await Promise.all(brains.map((one) => one.kill()));
      round.over = true;
      for (const one of brains) one.spawn();
      await Promise.all(working);
      for (const one of gateways) await one.ready();
      await waitFor(async () => codeOf(await impatient.call('svc_memory_stats')) === null, {
        what: 'the brain to answer',
      });
      for (const { tool, args, found } of round.kept) expect(await user.ok(tool, args)).toMatchObject(found);
      all.push(...round.kept);
    }
    const { objects } = await user.ok('svc_geometry_init', { brain });
    expect(await user.ok('svc_memory_stats', { brain })).toMatchObject({ addresses: { objects } });
    expect(objects).toBeGreaterThanOrEqual(all.filter(({ tool }) => tool === 'brain_geo_load').length);
    const { total, edges, roots } = await user.ok<{ total: number; edges: number; roots: number }>('lineage_stats');
    expect(total).toBe(edges + roots);
    report(`${KILL_ROUNDS} kills: ${all.length} acknowledged values, addresses, events and documents, none lost`);
  },
  { on: target, timeoutMs: 180_000 + KILL_ROUNDS * 20_000 },
);
