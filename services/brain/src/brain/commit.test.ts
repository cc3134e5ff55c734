import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { TreeChange } from '../files/file-table.ts';
import { readChanges } from './commit.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'commit-'));
});
afterEach(() => rmSync(root, { recursive: true }));
const changed = (file: string, change: TreeChange['change']): TreeChange => ({
  file,
  onDisk: file,
  change,
  kind: 'text',
  mode: '100644',
});

it('never reads through a link that a person put where a file was', async () => {
  mkdirSync(join(root, 'outside'));
  writeFileSync(join(root, 'outside', 'secret.md'), 'secret');
  writeFileSync(join(root, 'plain.md'), 'plain');
  symlinkSync(join(root, 'outside', 'secret.md'), join(root, 'was-a-file.md'));
  symlinkSync(join(root, 'outside'), join(root, 'was-a-directory'));
  const changes = await readChanges(root, [
    changed('plain.md', 'modified'),
    changed('was-a-file.md', 'deleted'),
    changed('was-a-file.md', 'modified'),
    changed('was-a-directory/secret.md', 'modified'),
  ]);
  expect(changes.map(({ content }) => content?.toString() ?? null)).toEqual(['plain', null, null, null]);
});
