/** Worlds of a node with a universe of its own, without its brain, and over kill -9: nothing is billed that was not written. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields, successOf } from '../client.ts';
import { insisted, persisted } from '../instruments/persistent-calls.ts';
import type { Random } from '../instruments/random.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { RESTORE_KILL_ROUNDS } from '../settings.ts';
import { killed, type ServiceProcess } from '../targets/service-process.ts';
import type { OwnTarget } from '../targets/target.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({ SVC_UNIVERSE_SEED: 'acme' }, { apart: EACH_APART });
const OF_ACME = '47163e41922bea81fd2cbc53f752f2fcd4b811f298abfcb808ca7783e4d5b619';
const DEMO = 'f7116f6f0b002913df3daa3d57bd9ef60a3ff18d86265a4db6cc484224b9e5f5';
const IMPATIENT = { headers: { 'x-svc-timeout-ms': '3000' } };
const BRAINS = 3;
const PRICE = 5;

async function spentBy(who: Caller, actor: string): Promise<number> {
  const { budget } = await who.ok<{ budget?: Fields }>('escrow_status', { org: `scenario:materialize:${actor}` });
  return Number(budget?.['spent'] ?? 0);
}

verifies(
  'worlds:universe',
  async ({ caller }) => {
    const who = caller();
    expect(await who.ok('svc_universe_status')).toMatchObject({ source: 'environment', universe: OF_ACME });
    expect(await who.ok('svc_universe_status', { universe: 'acme' })).toMatchObject({
      source: 'explicit',
      universe: OF_ACME,
    });
  },
  { on: target },
);

verifies(
  'worlds:brainless',
  async ({ fresh }) => {
    const { user, brain } = await fresh();
    await user.ok('svc_universe_record', { name: 'demo' });
    const actor = newName('actor');
    const brains = target.get().of('brain');
    await Promise.all(brains.map((one) => one.stop()));
    const resume = { id: DEMO, actor, brain, materialize: true };
    try {
      expect(await user.refused('E_STATE_LOCKED', 'svc_universe_resume', resume)).toMatchObject({ ok: false });
    } finally {
      await Promise.all(brains.map((one) => one.start()));
      await target.get().whole();
    }
    expect(await spentBy(user, actor)).toBe(0);
  },
  { on: target, only: 'cluster' },
);

function victimsOf({ place, everybody, of }: OwnTarget, random: Random): readonly ServiceProcess[] {
  if (place.kind === 'embedded') return everybody;
  const roles = ['universe', 'universe', 'universe', 'brain', 'escrow'];
  const all = of(random.pick(roles));
  return random.int(0, 1) === 0 ? all : [random.pick(all)];
}

async function suffer(finished: ReadonlySet<string>, random: Random): Promise<void> {
  for (let round = 0; round < RESTORE_KILL_ROUNDS; round += 1) {
    const before = finished.size;
    await waitFor(() => finished.size > before, { what: 'a resume to be finished' });
    await delay(random.int(0, 150));
    await killed(victimsOf(target.get(), random));
    for (const one of target.get().gateways) await one.ready();
  }
}

verifies(
  'worlds:killed',
  async ({ place, random, report }) => {
    const who = new Caller(place, IMPATIENT);
    const actor = newName('actor');
    await insisted(who, 'escrow_create', { agentId: `scenario:materialize:${actor}`, budget: 1_000_000 });
    const brains = Array.from({ length: BRAINS }, () => newName('b'));
    for (const brain of brains) {
      await insisted(who, 'brain_push', { name: brain, create: true });
      await insisted(who, 'svc_universe_record', { name: 'demo', brain });
    }
    const finished = new Set<string>();
    const refused: string[] = [];
    let isOver = false;
    const working = brains.map(async (brain, n) => {
      while (!isOver) {
        const wish = { id: DEMO, brain, actor, materialize: true };
        const reply = await persisted(who, 'svc_universe_resume', wish, { gateway: n % 2 });
        const code = codeOf(reply);
        if (code === null) finished.add(String(successOf(reply, 'a resume')['restoreId']));
        else refused.push(code);
      }
    });
    await suffer(finished, random).finally(() => {
      isOver = true;
    });
    await Promise.all(working);
    await target.get().whole();
    const unhurried = new Caller(place);
    // What was killed before its lease ran out keeps others out for as long, and nothing else is refused.
    expect(refused.filter((code) => code !== 'E_STATE_LOCKED')).toEqual([]);
    expect(await spentBy(unhurried, actor)).toBe(PRICE * finished.size);
    for (const brain of brains) {
      // A lease that was killed with its holder ends by itself.
      const isFree = async () => (await unhurried.ok('svc_lock', { brain }))['held'] === false;
      await waitFor(isFree, { what: 'the lease to be over' });
      expect(await unhurried.ok('svc_universe_resume', { id: DEMO, brain, actor })).toMatchObject({
        liveRootMatch: true,
      });
    }
    report(
      `${RESTORE_KILL_ROUNDS} kills: ${finished.size} resumes, each billed once; ${refused.length} found it locked`,
    );
  },
  { on: target, timeoutMs: 300_000 + RESTORE_KILL_ROUNDS * 20_000 },
);
