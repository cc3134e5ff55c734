/** A vault of notes is dropped into a brain: everything in it is accounted for, wherever one looks. */
import { appendFileSync, existsSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { plantingPlace } from '../instruments/outside.ts';
import { diskEntries, treeAt } from '../instruments/people/evidence.ts';
import { IGNORED, put, VAULT } from '../instruments/vault.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { promised } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

interface Row {
  readonly file: string;
  readonly kind: string;
  readonly problem: string | null;
}

interface Dirt {
  readonly dirty: boolean;
  readonly files: readonly { readonly file: string; readonly change: string }[];
  readonly count: number;
  readonly left: readonly { readonly file: string; readonly kind: string; readonly problem: string }[];
  readonly leftCount: number;
}

interface Health {
  readonly brains: readonly {
    readonly name: string;
    readonly files: number;
    readonly dirty: number;
    readonly unserved: readonly { readonly kind: string; readonly problem: string; readonly count: number }[];
    readonly problems: readonly unknown[];
  }[];
}

const nfc = (path: string) => path.normalize('NFC');
const isDotted = (path: string) => path.split('/').some((segment) => segment.startsWith('.'));
const TAKEN = VAULT.filter(({ isTaken }) => isTaken);
const LEFT = VAULT.filter(({ isTaken }) => !isTaken);
const ORDINARY = VAULT.filter(({ kind, isTaken }) => kind === 'text' && isTaken);

const namesOf = (rows: readonly { readonly file: string }[]) => rows.map(({ file }) => nfc(file)).sort();
const pathsOf = (entries: readonly { readonly path: string }[]) => entries.map(({ path }) => nfc(path)).sort();
const dirtOf = (user: Caller) => user.ok<Dirt>('svc_branch_is_dirty');

verifies('people:vault', async ({ fresh, place }) => {
  expect(VAULT.length).toBe(43);
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  put(folder, [...VAULT, ...IGNORED]);

  const { files } = await user.ok<{ files: Row[] }>('brain_list_files', { limit: 1000 });
  expect(namesOf(files)).toEqual(pathsOf(VAULT));
  const wrong = files.filter(({ file, kind, problem }) => {
    const entry = VAULT.find(({ path }) => nfc(path) === nfc(file));
    const isRight = isDotted(file) ? kind !== 'text' : kind === entry?.kind;
    return !isRight || (kind === 'other' && problem === null);
  });
  expect(wrong).toEqual([]);

  const dirt = await dirtOf(user);
  expect(namesOf(dirt.files)).toEqual(pathsOf(TAKEN));
  expect(namesOf(dirt.left)).toEqual(pathsOf(LEFT));
  expect(dirt).toMatchObject({ dirty: true, count: TAKEN.length, leftCount: LEFT.length });
  expect(dirt.left.filter(({ problem }) => problem === '')).toEqual([]);

  const own = async () => (await user.ok<Health>('svc_health')).brains.find(({ name }) => name === brain);
  const health = await own();
  const unserved = (health?.unserved ?? []).reduce((sum, { count }) => sum + count, 0);
  expect([health?.files ?? 0, unserved, health?.dirty]).toEqual([
    VAULT.length,
    VAULT.length - ORDINARY.length,
    TAKEN.length,
  ]);

  for (const { path, content } of ORDINARY) {
    expect(await user.ok('brain_read', { name: nfc(path) }), path).toMatchObject({ content: content.toString() });
  }
  for (const { path, kind } of LEFT) {
    const reply = await user.call('brain_write', { name: nfc(path), content: 'written over' });
    expect([path, kind, reply.text.includes('"saved":true')]).toEqual([path, kind, false]);
  }
  await user.refused('E_CONFLICT', 'brain_write', { name: 'Log of years.md', content: 'written over' });
  await user.refused('E_CONFLICT', 'brain_write', { name: 'Papers/paper.pdf', content: 'written over' });

  const before = diskEntries(folder);
  const committed = await user.ok<{ committed: boolean; count: number }>('svc_commit', { message: 'the vault' });
  expect(committed).toMatchObject({ committed: true, count: TAKEN.length });
  expect(filesAt(folder, 'main').sort()).toEqual(TAKEN.map(({ path }) => path).sort());
  expect(diskEntries(folder)).toEqual(before);
  expect(treeAt(folder, 'main').get('bin/export.sh')?.mode).toBe('100755');
  expect(await dirtOf(user)).toMatchObject({ dirty: false, files: [], leftCount: LEFT.length });
  const status = git(folder, 'status', '--porcelain', '-uall', '-z').split('\0').filter(Boolean);
  expect(status.map((row) => row.slice(3)).sort()).toEqual(LEFT.map(({ path }) => path).sort());

  const clone = plantingPlace(place, `clone-${brain}`);
  git(place.root, 'clone', '-q', folder, clone);
  for (const { path, content } of TAKEN) {
    expect([path, readFileSync(join(clone, path)).equals(content)]).toEqual([path, true]);
  }
  expect([...diskEntries(clone).keys()].sort()).toEqual(TAKEN.map(({ path }) => path).sort());
  rmSync(clone, { recursive: true, force: true });
  await trackedByHand(user, folder);
  assertSound(folder);
});

/** What a person asked git to keep is kept: committed when it changes, never dropped. */
async function trackedByHand(user: Caller, folder: string): Promise<void> {
  git(folder, 'add', '.obsidian/app.json', 'Latest.md');
  await user.ok('brain_write', { name: 'meanwhile', content: 'an agent writes' });
  await user.ok('svc_commit', { message: 'beside what a person has added' });
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'by hand');
  writeFileSync(join(folder, '.obsidian/app.json'), '{"vimMode": false}');
  rmSync(join(folder, 'Latest.md'));
  symlinkSync('empty.md', join(folder, 'Latest.md'));
  await user.ok('svc_commit', { message: 'what is tracked follows' });
  expect(git(folder, 'show', 'main:.obsidian/app.json')).toBe('{"vimMode": false}');
  expect(git(folder, 'show', 'main:Latest.md')).toBe('empty.md');
  expect(treeAt(folder, 'main').get('Latest.md')?.mode).toBe('120000');
}

/** One of each kind: an edit, then it is gone. */
const EDITED = [
  '日本.md',
  'Cafe\u0301.md',
  'Log of years.md',
  'Papers/paper.pdf',
  'attachments/photo.png',
  'Board.canvas',
];

verifies('people:vault-edits', async ({ fresh, place, socket }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  put(folder, [...VAULT, ...IGNORED]);
  await user.ok('svc_commit', { message: 'the vault' });
  const listener = await socket();
  const heard = (path: string, change: string) =>
    listener
      .of(brain, 'brain:change')
      .filter((event) => nfc(String(event.file)) === nfc(path) && event.change === change);
  const isTold = (path: string, change: string) =>
    waitFor(() => heard(path, change).length > 0, {
      withinMs: promised(2000),
      what: `the event that ${path} was ${change}`,
    });
  for (const path of EDITED) {
    appendFileSync(join(folder, path), '\nmore');
    await isTold(path, 'updated');
  }
  const told = (await dirtOf(user)).files.map(({ file }) => nfc(file)).sort();
  expect(told).toEqual(EDITED.map(nfc).sort());
  for (const path of EDITED) {
    rmSync(join(folder, path));
    await isTold(path, 'deleted');
  }
  expect((await dirtOf(user)).files.map(({ change }) => change)).toEqual(EDITED.map(() => 'deleted'));
  put(
    folder,
    VAULT.filter(({ path }) => EDITED.includes(path)),
  );
  for (const path of EDITED) await isTold(path, 'created');
  expect(await dirtOf(user)).toMatchObject({ dirty: false });
  for (const { path } of IGNORED) expect([path, existsSync(join(folder, path))]).toEqual([path, true]);
  const ignored = listener.of(brain).filter(({ file }) => IGNORED.some(({ path }) => path === file));
  expect(ignored).toEqual([]);
  expect(lstatSync(join(folder, 'Latest.md')).isSymbolicLink()).toBe(true);
});
