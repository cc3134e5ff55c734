/** Files that belong to somebody else and may not be read: they are told of, and keep nobody from the others. */
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { committingOf, describeOnDisk, readLarge, statEntry } from './file-entry.ts';
import { walkTree } from './tree-walk.ts';

const NOBODY = 65534;
const root = mkdtempSync(join(tmpdir(), 'svc-unreadable-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Whom no file is closed to is somebody else meanwhile. */
async function unprivileged<Value>(look: () => Value | Promise<Value>): Promise<Value> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await look();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test.each([
  ['note.md', 10],
  ['film.mp4', 2_000_000],
])('%s is listed with the reason, neither served nor committed', async (name, bytes) => {
  chmodSync(root, 0o755);
  writeFileSync(join(root, name), Buffer.alloc(bytes, 'x'));
  chmodSync(join(root, name), 0);
  const place = { root, path: name, onDisk: name };
  const stat = lstatSync(join(root, name), { bigint: true });
  const found = await unprivileged(async () => {
    const described = describeOnDisk(place, stat, Date.now());
    return described?.entry.kind === 'large' ? readLarge(root, described.entry) : (described?.entry ?? null);
  });
  expect(found).toMatchObject({ kind: 'other', hash: '', bytes, problem: expect.stringMatching(/^may not be read/) });
  expect(found && committingOf(found)).toBe('never');
});

test('a directory that may not be entered is listed with the reason, and what cannot be listed hides nothing beside it', async () => {
  const tree = join(root, 'tree');
  for (const directory of ['closed', 'listless', 'open']) {
    mkdirSync(join(tree, directory), { recursive: true });
    writeFileSync(join(tree, directory, 'f.md'), 'f');
  }
  chmodSync(join(tree, 'closed'), 0o700);
  chmodSync(join(tree, 'listless'), 0o711);
  const walked = { root: tree, isSkipped: () => false, entering: () => undefined };
  const { paths, entry } = await unprivileged(async () => {
    const stat = statEntry(tree, 'closed');
    const described = stat && describeOnDisk({ root: tree, path: 'closed', onDisk: 'closed' }, stat, Date.now());
    const found: string[] = [];
    for await (const path of walkTree(walked, '')) found.push(path);
    return { paths: found, entry: described?.entry };
  });
  expect(paths.sort()).toEqual(['closed', 'open/f.md']);
  expect(entry).toMatchObject({ kind: 'other', problem: expect.stringMatching(/^may not be read/) });
  expect(entry && committingOf(entry)).toBe('never');
});
