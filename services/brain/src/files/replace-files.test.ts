import {
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  lstatSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DiskRefusal } from './durable-write.ts';
import { fileStamp } from './file-stamp.ts';
import { type FileReplacement, replaceFiles } from './replace-files.ts';

let dir: string;
let root: string;
let aside: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'replace-'));
  root = join(dir, 'root');
  aside = join(dir, 'aside');
  for (const path of [root, aside, join(dir, 'staged')]) mkdirSync(path);
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const text = (path: string) => readFileSync(join(root, path), 'utf8');
const stamp = (path: string) => fileStamp(lstatSync(join(root, path), { bigint: true }));

/** As it lies there now; content null removes. */
function replacement(path: string, content: string | null, isNew = false): FileReplacement {
  const staged = join(dir, 'staged', path.replaceAll('/', '+'));
  if (content !== null) writeFileSync(staged, content);
  return { path, expected: isNew ? null : stamp(path), staged: content === null ? null : staged };
}

it('places, replaces and removes, and leaves no second names', async () => {
  put('kept/old', 'old');
  put('gone/deep/file', 'gone');
  const { kept, settle } = await replaceFiles(
    root,
    [replacement('kept/old', 'new'), replacement('gone/deep/file', null), replacement('fresh/one', 'one', true)],
    aside,
  );
  expect(await settle()).toEqual([]);
  expect([...kept]).toEqual([]);
  expect([text('kept/old'), text('fresh/one'), readdirSync(root)]).toEqual(['new', 'one', ['fresh', 'kept']]);
  expect(lstatSync(join(root, 'fresh/one')).nlink).toBe(1);
});

it('touches nothing that is not what it expects, whatever it is', async () => {
  for (const path of ['changed', 'removed', 'replaced']) put(path, 'before');
  const wishes = [
    replacement('changed', 'ours'),
    replacement('removed', null),
    replacement('replaced', 'ours'),
    replacement('appeared', 'ours', true),
    replacement('link', 'ours', true),
    replacement('full', 'ours', true),
    replacement('through/file', 'ours', true),
  ];
  put('changed', 'by a person');
  put('removed', 'by a person');
  rmSync(join(root, 'replaced'));
  symlinkSync('changed', join(root, 'replaced'));
  put('appeared', 'by a person');
  symlinkSync('nowhere', join(root, 'link'));
  put('full/of/something', 'by a person');
  mkdirSync(join(dir, 'outside'));
  symlinkSync(join(dir, 'outside'), join(root, 'through'));
  const { kept, settle } = await replaceFiles(root, wishes, aside);
  await settle();
  expect([...kept].sort()).toEqual(wishes.map(({ path }) => path).sort());
  for (const path of ['changed', 'removed', 'appeared', 'full/of/something', 'replaced']) {
    expect(text(path)).toBe('by a person');
  }
  expect([readdirSync(join(dir, 'outside')), readdirSync(aside)]).toEqual([[], []]);
});

it('puts everything back when one cannot be done', async () => {
  put('a', 'a');
  put('d/b', 'b');
  const before = [stamp('a').split(':')[3], stamp('d/b').split(':')[3]];
  const wishes = [replacement('a', 'new'), replacement('d/b', null), replacement('e/c', 'c', true)];
  const broken: FileReplacement = { path: 'f', expected: null, staged: join(dir, 'staged', 'missing') };
  await expect(replaceFiles(root, [...wishes, broken], aside)).rejects.toThrow(DiskRefusal);
  expect([text('a'), text('d/b'), readdirSync(root)]).toEqual(['a', 'b', ['a', 'd']]);
  expect([stamp('a').split(':')[3], stamp('d/b').split(':')[3]]).toEqual(before);
});

it('gives back what a program writes into the old file, which it still has open', async () => {
  put('edited', 'before');
  put('deleted/too', 'before');
  put('quiet', 'before');
  const open = [openSync(join(root, 'edited'), 'r+'), openSync(join(root, 'deleted/too'), 'r+')];
  const wishes = [replacement('edited', 'ours'), replacement('deleted/too', null), replacement('quiet', 'ours')];
  const { settle } = await replaceFiles(root, wishes, aside);
  for (const file of open) {
    writeSync(file, 'late, by a person');
    closeSync(file);
  }
  expect((await settle()).sort()).toEqual(['deleted/too', 'edited']);
  expect([text('edited'), text('deleted/too'), text('quiet')]).toEqual([
    'late, by a person',
    'late, by a person',
    'ours',
  ]);
});
