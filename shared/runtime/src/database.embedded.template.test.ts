import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { expect, onTestFinished, test } from 'vitest';
import { writeTemplate } from './database.embedded.template.ts';

function folder(): string {
  const path = temporaryFolder('template');
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function packed(from: string): Buffer {
  return execFileSync('tar', ['--format=ustar', '-czf', '-', '-C', from, '.']);
}

test('files of any size and empty directories come out as they went in, for this user alone', () => {
  const [from, to] = [folder(), join(folder(), 'pg')];
  const sizes = [0, 1, 511, 512, 513, 100_000];
  mkdirSync(join(from, 'base', 'empty'), { recursive: true });
  for (const size of sizes) writeFileSync(join(from, 'base', String(size)), Buffer.alloc(size, size % 251));
  writeTemplate(packed(from), to);
  for (const size of sizes)
    expect(readFileSync(join(to, 'base', String(size))).equals(Buffer.alloc(size, size % 251)), `${size}`).toBe(true);
  expect(statSync(join(to, 'base', 'empty')).isDirectory()).toBe(true);
  expect([to, join(to, 'base', '1')].map((path) => statSync(path).mode & 0o077)).toEqual([0, 0]);
});

test('what is neither a file nor a directory is refused', () => {
  const [from, to] = [folder(), folder()];
  symlinkSync('elsewhere', join(from, 'link'));
  expect(() => writeTemplate(packed(from), to)).toThrow('an entry of type 2');
});
