/** What lies where git keeps a file of its own and is none: it is named, hides nothing that works, and stops nobody else. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const { ok, no } = testCaller(() => node, null);

const placeOf = (brain: string, file: string) => join(bed.dataDir, 'brains', brain, '.git', file);

const THINGS = {
  directory: (path) => mkdirSync(path),
  pipe: (path) => execFileSync('mkfifo', [path]),
  file: (path) => writeFileSync(path, 'x'),
} satisfies Record<string, (path: string) => void>;

async function brainWith(file: string, thing: keyof typeof THINGS): Promise<string> {
  const brain = `${thing}-${file.replace(/[^A-Za-z]+/g, '-')}`.toLowerCase();
  await ok('brain_load', { brains: brain, create: true });
  await ok('brain_save', { brain, name: 'a', content: 'a' });
  const path = placeOf(brain, file);
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  THINGS[thing](path);
  return brain;
}

it.each([
  ['packed-refs', 'directory', 'packed-refs is a directory'],
  ['packed-refs', 'pipe', 'packed-refs is no plain file'],
  ['info/attributes', 'directory', 'info/attributes is a directory'],
  ['info/attributes', 'pipe', 'info/attributes is no plain file'],
  ['info', 'file', 'info'],
] as const)('names a %s that is a %s, and opens when it is gone', async (file, thing, said) => {
  const brain = await brainWith(file, thing);
  const cause = { code: 'BRAIN_LOAD_FAIL', message: expect.stringContaining(`.git/${said}`) };
  const folder = dirname(placeOf(brain, ''));
  // Another folder of the same name is opened anew.
  execFileSync('cp', ['-a', folder, `${folder}-again`]);
  await expect(node.call('brain_list_files', { brain: `${brain}-again` })).rejects.toMatchObject({ cause });
  expect(await ok('brain_list_files', { brain: 'svc' })).toMatchObject({ files: [] });
  rmSync(placeOf(`${brain}-again`, file), { recursive: true });
  expect(await ok('brain_read', { brain: `${brain}-again`, name: 'a' })).toMatchObject({ content: 'a' });
});

it.each([
  ['logs/refs/heads/main', 'directory'],
  ['logs/HEAD', 'directory'],
] as const)('commits where %s is an empty %s, as git does', async (file, thing) => {
  const brain = await brainWith(file, thing);
  expect(await ok('brain_save', { brain, name: 'b', content: 'b' })).toMatchObject({ committed: true });
});

it.each(['logs/refs/heads/main', 'index'])('refuses to commit where %s is a full directory', async (file) => {
  const brain = `full-${file.replaceAll('/', '-').toLowerCase()}`;
  await ok('brain_load', { brains: brain, create: true });
  await ok('brain_save', { brain, name: 'a', content: 'a' });
  rmSync(placeOf(brain, file), { force: true });
  mkdirSync(join(placeOf(brain, file), 'below'), { recursive: true });
  writeFileSync(join(placeOf(brain, file), 'below', 'x'), 'x');
  await ok('brain_write', { brain, name: 'b', content: 'b' });
  expect(await no('svc_commit', { brain, message: 'b' })).toMatchObject({ code: 'E_STATE_WRITE', reason: 'git' });
  rmSync(placeOf(brain, file), { recursive: true });
  expect(await ok('svc_commit', { brain, message: 'b' })).toMatchObject({ committed: true });
});

it('makes no backup where shallow is a directory', async () => {
  const brain = await brainWith('shallow', 'directory');
  expect(await no('svc_brain_backup', { brain })).toMatchObject({ code: 'E_STATE_WRITE', reason: 'git' });
});

it('says of a read in a partial clone how what was left behind is fetched, and reads it from then on', async () => {
  await ok('brain_load', { brains: 'whole', create: true });
  for (const content of ['one', 'two']) await ok('brain_save', { brain: 'whole', name: 'a', content });
  const whole = dirname(placeOf('whole', ''));
  const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, stdio: 'pipe' }).toString().trim();
  for (const name of ['uploadpack.allowFilter', 'uploadpack.allowAnySHA1InWant']) git(whole, 'config', name, 'true');
  const partial = join(dirname(whole), 'partial');
  git(bed.dataDir, 'clone', '--quiet', '--filter=blob:none', `file://${whole}`, partial);
  const past = { brain: 'partial', name: 'a', at: git(partial, 'rev-parse', 'main~1') };
  expect(await ok('brain_read', { brain: 'partial', name: 'a' })).toMatchObject({ content: 'two' });
  const cause = { code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('git fetch --refetch --no-filter') };
  await expect(node.call('brain_read', past)).rejects.toMatchObject({ cause });
  git(partial, 'fetch', '--quiet', '--refetch', '--no-filter');
  expect(await ok('brain_read', past)).toMatchObject({ content: 'one' });
});
