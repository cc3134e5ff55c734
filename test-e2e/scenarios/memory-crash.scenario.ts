/** kill -9 while every family writes; nothing acknowledged is missing, nothing half made is left, and every count is right. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { assertSound } from '../instruments/git.ts';
import {
  expectCounts,
  expectFound,
  expectWhole,
  isEveryLaneUnderWay,
  type Round,
  startWork,
} from '../instruments/kept-work.ts';
import { brainServed } from '../instruments/served.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { KILL_ROUNDS } from '../settings.ts';
import { brainFolder, type TargetPlace } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget();

/** Files that a write or a step had made on its way, of a brain and in the journal. */
function leftovers({ dataDir }: TargetPlace, folder: string, brain: string): string[] {
  const inTree = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /(^|\/)\.svc-/.test(path));
  return [...inTree, ...readdirSync(join(dataDir, 'journal')).filter((name) => name.startsWith(`${brain}.`))];
}

verifies(
  'memory:crash',
  async ({ place, random, report }) => {
    const { brains, whole } = target.get();
    const [user, wanderer] = [new Caller(place), new Caller(place)];
    const impatient = new Caller(place, { session: user.session, headers: { 'x-svc-timeout-ms': '1500' } });
    const [brain, other] = [newName('b'), newName('b')];
    for (const name of [other, brain]) await user.ok('brain_switch', { name, create: true });
    await wanderer.ok('brain_switch', { name: brain });
    const folder = brainFolder(place, brain);
    const rounds: Round[] = [];
    for (let number = 0; number < KILL_ROUNDS; number += 1) {
      const round: Round = { user: impatient, wanderer, brain, other, done: [], name: newName('r'), over: false };
      await user.ok('brain_evolution_start', { brain, sessionId: round.name });
      const working = startWork(round);
      await waitFor(() => isEveryLaneUnderWay(round), { what: 'every writer to be under way' });
      await delay(random.int(0, 200));
      await Promise.all(brains.map((one) => one.kill()));
      round.over = true;
      for (const one of brains) one.spawn();
      await Promise.all(working);
      await whole();
      await brainServed(user, brain);
      await expectFound(round, user);
      await expectWhole(round, user);
      expect(leftovers(place, folder, brain)).toEqual([]);
      rounds.push(round);
    }
    assertSound(folder);
    await expectCounts(rounds, user, { brain, other });
    const acknowledged = rounds.flatMap(({ done }) => done);
    const { objects } = await user.ok('svc_geometry_init', { brain });
    expect(await user.ok('svc_memory_stats', { brain })).toMatchObject({ addresses: { objects } });
    expect(objects).toBeGreaterThanOrEqual(acknowledged.filter(({ tool }) => tool === 'brain_geo_store').length);
    const { total, edges, roots } = await user.ok<{ total: number; edges: number; roots: number }>('lineage_stats');
    expect(total).toBe(edges + roots);
    report(`${KILL_ROUNDS} kills: ${acknowledged.length} acknowledged things of fifteen kinds, none lost`);
  },
  { on: target, timeoutMs: 300_000 + KILL_ROUNDS * 20_000 },
);
