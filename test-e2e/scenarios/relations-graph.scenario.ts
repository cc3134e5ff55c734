/** What belongs together, what is attended to, and what was learned. */
import { expect } from 'vitest';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

verifies('links:walk', async ({ fresh, caller, socket }) => {
  const { user, brain } = await fresh();
  const hears = await socket();
  for (const [from = '', to = ''] of ['ab', 'bc', 'bd', 'de'].map((pair) => pair.split('')))
    await user.ok('brain_link', { from, to });
  await hears.until('brain:linked', (event) => event['brain'] === brain && event['to'] === 'e');
  const found = await caller({ gateway: 1 }).ok('brain_connections', { brain: 'a', depth: 2, in: brain });
  expect(found).toMatchObject({ count: 3, nodes: 4, truncated: false });
  const ring = Array.from({ length: 10 }, (_, n) => ({ brain, from: `n${n}`, to: `n${(n + 1) % 10}`, type: 'builds' }));
  await Promise.all(ring.map((link, n) => caller({ gateway: n }).ok('brain_link', link)));
  expect(await user.ok('brain_connections', { brain: 'n0', depth: 6 })).toMatchObject({ count: 10, nodes: 10 });
  expect(await user.ok('brain_link', { from: 'a', to: 'b' })).toMatchObject({ existed: true, totalLinks: 14 });
  await user.fails('VAF_INPUT_INVALID', 'brain_link', { from: 'a', to: 'a' });
});

verifies('attention:fades', async ({ fresh, caller, socket }) => {
  const { user, brain } = await fresh();
  const hears = await socket();
  expect(await user.ok('brain_attend', { name: 'x', score: 1 })).toMatchObject({ name: 'x', score: 1 });
  await hears.until('brain:attended', (event) => event['brain'] === brain && event['about'] === 'x');
  await Promise.all(
    Array.from({ length: 3 }, (_, n) => caller({ gateway: n }).ok('brain_attend', { brain, name: 'y' })),
  );
  const { attention } = await caller({ gateway: 1 }).ok('brain_state', { brain });
  expect(attention).toEqual({ x: expect.closeTo(1, 2), y: expect.closeTo(0.6, 2) });
  await user.fails('VAF_INPUT_INVALID', 'brain_attend', { name: 'x', score: 1.5 });
});

verifies('synapses:learned', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const other = newName('b');
  await operator.ok('brain_push', { name: other, create: true });
  const { caller: ann } = memberAt(await createMembers(place, 'editor'), 0);
  await ann.ok('brain_switch', { name: brain });
  await ann.ok('brain_push', { name: other });
  expect(await ann.with({ gateway: 1 }).ok('brain_synapses', {})).toMatchObject({
    synapses: { [brain]: { [other]: 1 } },
    edges: 2,
  });
  const policy = { container: 'default', readableBy: ['role:admin'], writableBy: ['role:admin'] };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${other}`, policy });
  expect((await ann.ok('brain_synapses', {}))['synapses']).not.toHaveProperty(brain);
});

verifies('insights:shared', async ({ place, socket }) => {
  const inside = await createMembers(place, 'viewer', 'editor');
  const { caller: eve } = memberAt(await createMembers(place, 'admin'), 0);
  const [ann, bob] = [memberAt(inside, 0).caller, memberAt(inside, 1).caller];
  const hears = await socket({ headers: bob.headers(), auth: {} });
  const shared = await ann.ok('brain_share', { insight: 'Deploys on Fridays fail.', tags: ['deploy'] });
  await hears.until('insight:shared', (event) => event['id'] === shared['id']);
  await bob.ok('brain_share', { insight: 'Not all of them.' });
  expect((await ann.with({ gateway: 1 }).ok('brain_state', {}))['recentInsights']).toMatchObject([
    { insight: 'Not all of them.' },
    { insight: 'Deploys on Fridays fail.', tags: ['deploy'] },
  ]);
  expect((await eve.ok('brain_state', {}))['recentInsights']).toEqual([]);
});

verifies('discover:kinds', async ({ place }) => {
  const members = await createMembers(place, 'editor', 'editor');
  const [ann, bob] = [memberAt(members, 0).caller, memberAt(members, 1).caller.with({ gateway: 1 })];
  const word = newName('quay').replaceAll('-', '');
  const brain = newName('b');
  await ann.ok('brain_switch', { name: brain, create: true });
  await ann.ok('brain_write', { name: 'mooring', content: `# Mooring\n\nAt the ${word}, with two lines.` });
  await ann.ok('svc_create_island', { name: 'lines', triggers: [word] });
  await ann.ok('brain_share', { insight: `The ${word} is empty on Mondays.` });
  const found = await bob.ok('brain_discover', { brain, query: word });
  expect(found).toMatchObject({
    files: expect.arrayContaining([expect.objectContaining({ id: 'mooring.md' })]),
    islands: [{ id: 'lines' }],
    insights: [{ preview: `The ${word} is empty on Mondays.` }],
    agents: [],
    skills: [],
    brains: [],
  });
  expect(found).not.toHaveProperty('degraded');
  const stranger = memberAt(await createMembers(place, 'editor'), 0).caller;
  expect(await stranger.ok('brain_discover', { query: word })).toMatchObject({ insights: [] });
});
