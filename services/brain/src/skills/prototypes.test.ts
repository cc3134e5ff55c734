/** Skill prototypes through the dispatcher. */
import { expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();

const operator = testCaller(() => node, null);
const eve = testCaller(() => node, { agentId: 'eve', userId: 'eve', roles: ['editor'], verified: true });
const REVIEW = '---\ndescription: How to review.\ntags: [a]\n---\n\n# Review\r\n';

test('a written prototype is listed at once and loads byte for byte, before one that is shipped', async () => {
  await operator.ok('brain_write', { name: 'skills/review.md', content: REVIEW });
  await operator.ok('brain_write', { name: 'skills/plan/SKILL.md', content: '# Plan' });
  await operator.ok('brain_write', { name: 'skills/plan/notes.md', content: 'no prototype' });
  await operator.ok('brain_write', { name: 'skills/hand-over.md', content: 'ours' });
  const listed = await operator.ok('skill_proto_list');
  expect(listed).toMatchObject({
    protos: [
      { name: 'commit-often', source: 'builtin', brain: null, description: expect.stringContaining('commit') },
      { name: 'hand-over', source: 'brain', brain: 'svc', description: '' },
      { name: 'plan', source: 'brain' },
      { name: 'review', source: 'brain', description: 'How to review.' },
    ],
    count: 4,
  });
  const first = await operator.ok('skill_proto_list', { limit: 3 });
  expect(await operator.ok('skill_proto_list', { limit: 3, cursor: first['nextCursor'] })).toMatchObject({
    protos: [{ name: 'review' }],
  });
  expect(await operator.ok('skill_proto_load', { name: 'review' })).toMatchObject({
    content: REVIEW,
    meta: { description: 'How to review.', tags: ['a'] },
    source: 'brain',
  });
  expect(await operator.ok('skill_proto_load', { name: 'plan' })).toMatchObject({ content: '# Plan', meta: {} });
  expect(await operator.ok('skill_proto_load', { name: 'hand-over' })).toMatchObject({ content: 'ours' });
  expect(await operator.ok('skill_proto_load', { name: 'commit-often' })).toMatchObject({ source: 'builtin' });
});

test('one that is not there, or not for the caller, is absent; a name is no path', async () => {
  expect(await operator.no('skill_proto_load', { name: 'ghost' })).toMatchObject({ code: 'E_PROTO_ABSENT' });
  for (const name of ['../x', 'a/b', '.git'])
    expect(await operator.no('skill_proto_load', { name })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  await operator.ok('brain_write', { name: 'skills/secret.md', content: 's' });
  bed.registry.setPolicy('brain:svc/skills/secret.md', { readableBy: ['user:ada'] });
  expect(await eve.no('skill_proto_load', { name: 'secret' })).toMatchObject({ code: 'E_PROTO_ABSENT' });
  expect(JSON.stringify(await eve.ok('skill_proto_list'))).not.toContain('secret');
});
