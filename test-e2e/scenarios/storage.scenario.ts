/** A branch as an area of files: bytes, directories, and what must hold whoever reads, names or kills. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { assertSound } from '../instruments/git.ts';
import { expectHarmless, shownServed } from '../instruments/hostile-calls.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { plantingPlace } from '../instruments/outside.ts';
import { pictureOf } from '@svc/testing/pictures.ts';
import { brainServed } from '../instruments/served.ts';
import { NAMES, STORAGE_KILLS_INSIDE } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

verifies(['storage:bytes', 'storage:rm', 'notes:core'], async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  const bytes = randomBytes(300_000);
  const sent = { path: 'pics/noise.bin', content: bytes.toString('base64'), encoding: 'base64' };
  const written = await user.ok('svc_storage_write', sent);
  expect(written).toMatchObject({ hash: createHash('sha256').update(bytes).digest('hex'), bytes: 300_000 });
  expect(readFileSync(join(folder, 'pics/noise.bin')).equals(bytes)).toBe(true);
  const { commit } = await user.ok('svc_commit', { message: 'noise' });
  await user.ok('svc_storage_write', { path: 'pics/a/b.md', content: 'b' });
  for (const at of [{}, { at: commit }]) {
    const read = { path: 'pics/noise.bin', encoding: 'base64', ...at };
    expect(await user.ok('svc_storage_read', read, { gateway: 1 })).toMatchObject({ content: sent.content });
  }
  expect(await user.refused('E_DIR_NOT_EMPTY', 'svc_storage_rm', { path: 'pics' })).toMatchObject({ removed: false });
  await user.fails('VAF_PATH_BLOCKED', 'svc_storage_rm', { path: '/', recursive: true });
  expect(readdirSync(join(folder, 'pics')).sort()).toEqual(['a', 'noise.bin']);
  expect(await user.ok('svc_storage_cp', { src: 'pics', dest: 'copy' })).toMatchObject({ files: 2, bytes: 300_001 });
  expect(await user.ok('svc_storage_rm', { path: 'pics', recursive: true })).toMatchObject({ files: 2 });
  expect(await user.ok('svc_storage_listRecursive')).toMatchObject({
    entries: [{ path: 'copy' }, { path: 'copy/a' }, { path: 'copy/a/b.md' }, { path: 'copy/noise.bin' }],
  });
  await user.ok('svc_brain_update_my_stuff', { key: 'goals', content: 'Answer soon.' });
  expect(readFileSync(join(folder, 'goals.md'), 'utf8')).toBe('Answer soon.');
  expect(await user.ok('svc_brain_my_stuff')).toMatchObject({ stuff: { goals: 'Answer soon.' }, count: 1 });
  expect((await user.ok('context_build'))['assembled']).toContain('Answer soon.');
  await user.fails('VAF_PATH_BLOCKED', 'svc_brain_update_my_stuff', { key: 'a/b', content: 'x' });
});

verifies('storage:links', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('svc_storage_write', { path: 'a/x.md', content: 'x' });
  const outside = plantingPlace(place, `outside-${brain}`);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.md'), 'secret');
  symlinkSync(outside, join(folder, 'a', 'l'));
  symlinkSync('/etc', join(folder, 'a', 'etc'));
  for (const path of ['a/l/secret.md', 'a/etc/hostname', 'a/l']) {
    await user.refused('E_FILE_ABSENT', 'svc_storage_read', { path, encoding: 'base64' });
    expect(await user.ok('svc_storage_exists', { path })).toMatchObject({ exists: false });
  }
  expect(await user.ok('svc_storage_list', { dir: 'a' })).toMatchObject({ entries: [{ path: 'a/x.md' }] });
  expect(await user.ok('svc_storage_cp', { src: 'a', dest: 'b' })).toMatchObject({ files: 1 });
  await user.refused('E_CONFLICT', 'svc_storage_rm', { path: 'a', recursive: true });
  expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret');
  expect(existsSync('/etc/hostname')).toBe(true);
});

verifies('storage:rows', async ({ place, caller }) => {
  const operator = caller();
  const workspace = await createMembers(place, 'editor', 'admin');
  const [eve, ada] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const brain = newName('b');
  await operator.ok('brain_push', { name: brain, create: true });
  await operator.ok('svc_storage_write', { brain, path: 'a/open.md', content: 'open' });
  await operator.ok('svc_storage_write', { brain, path: 'a/deep/hidden.md', content: 'hidden' });
  const policy = { container: workspace.workspace, readableBy: [`user:${ada.id}`], writableBy: [`user:${ada.id}`] };
  await operator.ok('svc_habitat_setPolicy', { resource: `brain:${brain}/a/deep`, policy });
  const listed = await eve.caller.ok('svc_storage_listRecursive', { brain });
  expect(listed).toMatchObject({ entries: [{ path: 'a' }, { path: 'a/open.md' }] });
  expect(await eve.caller.ok('svc_storage_cp', { brain, src: 'a', dest: 'b' })).toMatchObject({ files: 1 });
  await eve.caller.fails('RLS_DENIED', 'svc_storage_rm', { brain, path: 'a', recursive: true });
  expect(readdirSync(join(brainFolder(place, brain), 'a')).sort()).toEqual(['deep', 'open.md']);
  expect(readdirSync(join(brainFolder(place, brain), 'b'))).toEqual(['open.md']);
});

verifies('skills:prototypes', async ({ fresh, caller }) => {
  const { user, brain } = await fresh();
  const content = '---\ndescription: How to review.\n---\n\n# Review\r\n';
  await user.ok('brain_write', { name: 'skills/review.md', content });
  const { protos } = await user.ok<{ protos: Fields[] }>('skill_proto_list', {}, { gateway: 1 });
  expect(protos).toContainEqual({ name: 'review', description: 'How to review.', source: 'brain', brain });
  expect(await user.ok('skill_proto_load', { name: 'review' })).toMatchObject({ content, source: 'brain' });
  await user.fails('VAF_PATH_BLOCKED', 'skill_proto_load', { name: '../x' });
  const policy = { readableBy: ['user:nobody'], writableBy: ['user:nobody'] };
  await caller().ok('svc_habitat_setPolicy', { resource: `brain:${brain}/skills`, policy });
  await user.refused('E_PROTO_ABSENT', 'skill_proto_load', { name: 'review' });
});

function callsAt(path: string): [string, Fields][] {
  return [
    ['svc_storage_write', { path, content: 'x' }],
    ['svc_storage_cp', { src: 'kept', dest: path }],
    ['svc_storage_mkdir', { dir: path }],
    ['svc_storage_read', { path }],
    ['svc_stego_encode', { image: 'dot.png', message: 'hi', output: `${path}.png` }],
    ['svc_stego_decode', { image: `${path}.png` }],
    ['svc_storage_rm', { path: `${path}.png` }],
    ['svc_storage_rm', { path, recursive: true }],
  ];
}

verifies(
  'storage:names',
  async ({ fresh, place, random, report }) => {
    const { user } = await fresh();
    await user.ok('svc_storage_write', { path: 'kept/x.md', content: 'x' });
    await user.ok('svc_storage_write', {
      path: 'dot.png',
      content: pictureOf(8, 8).toString('base64'),
      encoding: 'base64',
    });
    const folders = readdirSync(place.dataDir).sort();
    const served = await expectHarmless({
      user,
      place,
      random,
      names: NAMES,
      callsWith: (name, index) => callsAt(index % 2 === 0 ? name : `d/${name}`),
    });
    expect(readdirSync(place.dataDir).sort()).toEqual(folders);
    expect(await user.ok('svc_storage_read', { path: 'kept/x' })).toMatchObject({ content: 'x' });
    report(`${NAMES} hostile names, served: ${shownServed(served)}`);
  },
  { timeoutMs: 300_000 + NAMES * 200 },
);

const killed = ownTarget();
const FILES = 600;
const MOST_ROUNDS = 30;

verifies(
  'storage:crash',
  async ({ place, random, report }) => {
    const { brains, whole } = killed.get();
    const user = new Caller(place);
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    const folder = brainFolder(place, brain);
    mkdirSync(join(folder, 'from'));
    for (let n = 0; n < FILES; n += 1) writeFileSync(join(folder, 'from', `${n}.md`), `${n} `.repeat(100));
    await user.ok('svc_commit', { brain, message: 'first' });
    const journal = join(place.dataDir, 'journal');
    const isInside = (): boolean => readdirSync(journal).some((name) => name.startsWith(`${brain}.stp_`));
    const count = (name: string): number =>
      existsSync(join(folder, name)) ? readdirSync(join(folder, name)).length : 0;
    let inside = 0;
    for (let round = 0; inside < STORAGE_KILLS_INSIDE; round += 1) {
      expect(round).toBeLessThan(MOST_ROUNDS);
      const isCopy = count('to') === 0;
      const [tool, args] = isCopy
        ? (['svc_storage_cp', { brain, src: 'from', dest: 'to' }] as const)
        : (['svc_storage_rm', { brain, path: 'to', recursive: true }] as const);
      let isOver = false;
      const reply: Promise<Reply | null> = user
        .call(tool, args, { headers: { 'x-svc-timeout-ms': '5000' } })
        .catch(() => null)
        .finally(() => (isOver = true));
      while (!isOver && !isInside()) await nextTurn();
      await delay(random.int(0, 4));
      await Promise.all(brains.map((one) => one.kill()));
      if (isInside()) inside += 1;
      for (const one of brains) one.spawn();
      const answer = await reply;
      await whole();
      await brainServed(user, brain);
      const left = count('to');
      expect([0, FILES], `${tool} left ${left}`).toContain(left);
      expect(existsSync(join(folder, 'to')), 'no directory is left without its files').toBe(left > 0);
      if (answer !== null && codeOf(answer) === null) expect(left).toBe(isCopy ? FILES : 0);
      expect(count('from')).toBe(FILES);
      expect(isInside()).toBe(false);
      assertSound(folder);
    }
    report(`${inside} kills inside of copying and removing ${FILES} files: all or none of them`);
  },
  { on: killed, timeoutMs: 300_000 + STORAGE_KILLS_INSIDE * 30_000 },
);
