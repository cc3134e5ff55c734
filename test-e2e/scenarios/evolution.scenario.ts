/** Sessions of work on a brain. */
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { INSIGHTS_AT_ONCE } from '../settings.ts';
import { verifies } from '../verifies.ts';

verifies('evolution:changes', async ({ fresh, caller, socket }) => {
  const { user, brain } = await fresh();
  const hears = await socket();
  const isOurs = (name: string) => (event: Fields) => event['name'] === name && event['brain'] === brain;
  const { session } = await user.ok('brain_evolution_start', { sessionId: 'spring' });
  expect(session).toMatchObject({ id: 'spring', brain, branch: 'main' });
  await user.refused('E_EVOLUTION_ACTIVE', 'brain_evolution_start', {});
  await user.ok('brain_write', { name: 'a', content: 'one' });
  await user.with({ gateway: 1 }).ok('brain_write', { name: 'b', content: 'two' });
  await caller({ gateway: 1 }).ok('brain_write', { brain, name: 'c', content: 'of another session' });
  const { commit } = await user.ok('svc_commit', { message: 'work' });
  expect(await user.ok('brain_evolution_insight', { insight: 'it works' })).toMatchObject({ autoStarted: false });
  expect(await user.with({ gateway: 1 }).ok('brain_evolution_status', {})).toMatchObject({
    active: true,
    changesCount: 2,
    insightsCount: 1,
  });
  expect(await user.ok('brain_evolution_end', {})).toMatchObject({
    summary: { id: 'spring', changes: 2, files: ['a.md', 'b.md'], commits: [commit], insights: 1 },
  });
  for (const name of ['evolution:started', 'evolution:noted', 'evolution:ended']) await hears.until(name, isOurs(name));
  await user.refused('E_EVOLUTION_ABSENT', 'brain_evolution_end', {});
});

verifies('evolution:one', async ({ fresh }) => {
  const { user } = await fresh();
  const answers: Fields[] = [];
  const lane = async (from: number): Promise<void> => {
    for (let n = from; n < INSIGHTS_AT_ONCE; n += 50)
      answers.push(await user.with({ gateway: n }).ok('brain_evolution_insight', { insight: `insight ${n}` }));
  };
  await Promise.all(Array.from({ length: 50 }, (_, from) => lane(from)));
  expect(new Set(answers.map(({ session }) => session)).size).toBe(1);
  expect(answers.filter(({ autoStarted }) => autoStarted)).toHaveLength(1);
  const { history } = await user.ok<{ history: Fields[] }>('brain_evolution_history', {});
  expect(history).toMatchObject([{ insightsCount: INSIGHTS_AT_ONCE }]);
  expect(history[0]?.['insights']).toHaveLength(200);
});
