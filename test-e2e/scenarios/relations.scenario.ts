/** What is noted about files and commits. */
import { expect } from 'vitest';
import { acquire, pair } from '../instruments/leases.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { verifies } from '../verifies.ts';

verifies('resolution:kept', async ({ fresh, caller, socket }) => {
  const { user, brain } = await fresh();
  const hears = await socket();
  const file = 'learnings/x.md';
  const noted = await user.ok('svc_resolution_track', { file, change: 'keep' });
  expect(noted).toMatchObject({ tracked: true, branch: 'main', changed_by: 'operator', changedAt: expect.any(Number) });
  await hears.until('resolution:tracked', (event) => event['id'] === noted['id'] && event['brain'] === brain);
  const { tracked: _tracked, ...delta } = noted;
  const elsewhere = caller({ gateway: 1 });
  expect(await elsewhere.ok('svc_resolution_list', { brain, file })).toEqual({ file, deltas: [delta], count: 1 });
  const many = Array.from({ length: 100 }, (_, n) =>
    caller({ gateway: n }).ok('svc_resolution_track', { brain, file, change: `change ${n}` }),
  );
  const ids = new Set((await Promise.all(many)).map(({ id }) => id));
  expect(ids.size).toBe(100);
  expect(await user.ok('svc_resolution_list', { limit: 1000 })).toMatchObject({ count: 101 });
});

verifies('citation:lease', async ({ fresh, caller, socket }) => {
  const { ann, bob } = await pair(fresh, caller);
  const hears = await socket();
  await ann.ok('brain_write', { name: 'x', content: 'one' });
  const { commit } = await ann.ok('svc_commit', { message: 'one' });
  const quote = { commit: String(commit).slice(0, 12) };
  expect(await bob.ok('svc_citations_format', quote)).toEqual({ ...quote, cited: false, citation: null });
  await acquire(ann, 'ann');
  expect(await bob.refused('E_LOCKED', 'svc_citations_add', quote)).toMatchObject({ added: false });
  const added = await ann.ok('svc_citations_add', { ...quote, context: 'the first' });
  expect(added).toMatchObject({ commit, verified: true });
  await hears.until('citation:added', (event) => event['id'] === added['id']);
  expect(await bob.with({ gateway: 1 }).ok('svc_citations_format', quote)).toEqual({
    commit,
    cited: true,
    citation: `[Source: ${String(commit).slice(0, 7)}] the first`,
  });
});

verifies('resolution:rows', async ({ place, fresh }) => {
  const { user: operator, brain } = await fresh();
  const inside = await createMembers(place, 'editor');
  const outside = await createMembers(place, 'editor');
  const [ann, eve] = [memberAt(inside, 0).caller, memberAt(outside, 0).caller];
  const policy = { container: inside.workspace, readableBy: ['role:editor'], writableBy: ['role:editor'] };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/secret`, policy });
  const track = (file: string) => ({ brain, file, change: 'x' });
  await ann.ok('svc_resolution_track', track('secret/plan.md'));
  await ann.ok('svc_resolution_track', track('open.md'));
  await eve.fails('RLS_DENIED', 'svc_resolution_track', track('secret/none'));
  expect(await ann.ok('svc_resolution_list', { brain })).toMatchObject({ count: 2 });
  expect(await eve.ok('svc_resolution_list', { brain, limit: 1 })).toEqual({
    file: null,
    deltas: [expect.objectContaining({ file: 'open.md' })],
    count: 1,
  });
  expect(await eve.ok('svc_resolution_list', { brain, file: 'secret/plan' })).toMatchObject({ count: 0 });
});
