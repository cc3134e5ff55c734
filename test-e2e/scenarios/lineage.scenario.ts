/** What came of what. */
import { expect } from 'vitest';
import { codeOf } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { LINEAGE_RINGS } from '../settings.ts';
import { verifies } from '../verifies.ts';

verifies('lineage:acyclic', async ({ place, socket }) => {
  const workspace = await createMembers(place, 'editor');
  const { caller: member } = memberAt(workspace, 0);
  const hears = await socket();
  await member.ok('lineage_record', { id: 'a', event: 'began', data: { n: 1 } });
  await member.ok('lineage_record', { id: 'b', event: 'went on', parent: 'a' });
  await member.refused('E_LINEAGE_CYCLE', 'lineage_record', { id: 'a', event: 'began', data: { n: 1 }, parent: 'b' });
  await member.refused('E_LINEAGE_CYCLE', 'lineage_record', { id: 'x', event: 'x', parent: 'x' });
  await member.refused('E_CONFLICT', 'lineage_record', { id: 'a', event: 'began', data: { n: 2 } });
  expect(await member.ok('lineage_stats')).toMatchObject({ total: 2, edges: 1, roots: 1, maxDepth: 1 });
  await hears.until(
    'lineage:recorded',
    (event) =>
      event.name === 'lineage:recorded' && event['workspace'] === workspace.workspace && event['entry'] === 'b',
  );
});

verifies('lineage:rings', async ({ place }) => {
  const workspace = await createMembers(place, 'editor');
  const { caller: member } = memberAt(workspace, 0);
  const record = (gateway: number, id: string, parent: string[] = []) =>
    member.call('lineage_record', { id, event: id, parent }, { gateway });
  const pairs = Array.from({ length: LINEAGE_RINGS }, (_, pair) => [`one-${pair}`, `other-${pair}`] as const);
  for (const ids of pairs) for (const id of ids) expect(codeOf(await record(0, id))).toBeNull();
  const codes = await Promise.all(
    pairs.map(([one, other]) => Promise.all([record(0, one, [other]), record(1, other, [one])])),
  );
  for (const replies of codes) expect(new Set(replies.map(codeOf))).toEqual(new Set(['E_LINEAGE_CYCLE', null]));
  expect(await member.ok('lineage_stats')).toMatchObject({ total: 2 * LINEAGE_RINGS, edges: LINEAGE_RINGS });
});

verifies('lineage:trace', async ({ place }) => {
  const workspace = await createMembers(place, 'viewer');
  const { caller: member } = memberAt(workspace, 0);
  const record = (id: string, parent: string[] = []) => member.ok('lineage_record', { id, event: id, parent });
  await record('a');
  await record('b', ['a']);
  await record('c', ['a']);
  await record('d', ['b', 'c']);
  const far = await member.with({ gateway: 1 }).ok('lineage_trace', { id: 'd' });
  expect(far).toMatchObject({
    ancestors: [{ id: 'b' }, { id: 'c' }, { id: 'a', depth: 2 }],
    truncated: false,
  });
  expect(await member.ok('lineage_trace', { id: 'd', depth: 1 })).toMatchObject({
    ancestors: [{ id: 'b' }, { id: 'c' }],
    truncated: true,
  });
});

verifies('lineage:workspaces', async ({ place }) => {
  const [acme, beta] = [await createMembers(place, 'editor'), await createMembers(place, 'admin')];
  const [ann, eve] = [memberAt(acme, 0).caller, memberAt(beta, 0).caller];
  const { id } = await ann.ok('lineage_record', { event: 'secret' });
  await eve.refused('E_LINEAGE_ABSENT', 'lineage_trace', { id });
  await eve.refused('E_LINEAGE_PARENT', 'lineage_record', { event: 'x', parent: id });
  expect(await eve.ok('lineage_stats')).toMatchObject({ total: 0, events: {} });
});
