/** Objects that the history of a brain needs and its repository lacks. */
import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const { ok } = testCaller(() => node, null);

it.each([
  ['brain_read', { name: 'a' }],
  ['brain_list_files', {}],
])('of a past state is damage to %s and no absence of the file; once it is back, all is served', async (tool, wish) => {
  const brain = tool.replaceAll('_', '-');
  await ok('brain_load', { brains: brain, create: true });
  const { commit } = await ok('brain_save', { brain, name: 'a', content: 'then' });
  await ok('brain_save', { brain, name: 'a', content: 'now' });
  const folder = join(bed.dataDir, 'brains', brain);
  const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim();
  const blob = git('rev-parse', `${String(commit)}:a.md`);
  const object = join(folder, '.git', 'objects', blob.slice(0, 2), blob.slice(2));
  renameSync(object, `${object}-aside`);
  expect(await ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'now' });
  const cause = { code: 'BRAIN_LOAD_FAIL', message: expect.stringContaining(blob) };
  await expect(node.call(tool, { brain, at: commit, ...wish })).rejects.toMatchObject({ cause });
  renameSync(`${object}-aside`, object);
  expect(await ok('brain_read', { brain, name: 'a', at: commit })).toMatchObject({ content: 'then' });
  expect(await ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'now' });
});
