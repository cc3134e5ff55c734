/** Files that belong to somebody else and may not be read: they are told of, and keep nobody from the others. */
import { chmodSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { committingOf, describeOnDisk, readLarge } from './file-entry.ts';

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
