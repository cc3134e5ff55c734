import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { growthOf, LINEAR } from '@svc/testing/growth.ts';
import { afterAll, expect, test } from 'vitest';
import { textDifference } from '../domain/diff/unified.ts';

const dir = mkdtempSync(join(tmpdir(), 'unified-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const line = fc.constantFrom('a\n', 'b\n', 'c\n', 'the same\n', 'x\r\n', '\n', 'ü\n');
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom('', '', 'no end'))
  .map(([lines, last]) => lines.join('') + last);

test('git applies what is printed', () => {
  const cases: [string, string][] = [
    ...fc.sample(fc.tuple(text, text), { numRuns: 60, seed: 8 }),
    ['a\nb\n', 'a\nb'],
    ['a', 'a\n'],
  ];
  for (const [before, after] of cases) {
    if (before === after || before === '' || after === '') continue;
    const { patch } = textDifference('my file.md', before, after, 1_000_000);
    writeFileSync(join(dir, 'my file.md'), before);
    const options = { cwd: dir, input: patch, env: { ...process.env, GIT_CEILING_DIRECTORIES: dir } };
    execFileSync('git', ['apply', '--unidiff-zero', '--whitespace=nowarn', '-'], options);
    expect(readFileSync(join(dir, 'my file.md'), 'utf8')).toBe(after);
  }
});

const UNLIKE: Readonly<Record<string, (size: number, side: number) => string>> = {
  'lines that differ all': (size, side) =>
    Array.from({ length: size / 8 }, (_, index) => `${side}${index}`.padEnd(7)).join('\n'),
  'the same lines in another order': (size, side) => (side === 0 ? 'a\nb\n' : 'b\nb\na\n').repeat(size / 6),
  'lines that come again': (size, side) =>
    Array.from({ length: size / 4 }, (_, index) => `${(index * (side + 3)) % 97}\n`).join(''),
  'one line again and again': (size, side) => `${side}\n`.repeat(size / 2),
};

test.each(Object.entries(UNLIKE))('the work grows with the size of the texts alone: %s', async (_name, make) => {
  let texts: [string, string] = ['', ''];
  const prepare = (size: number) => void (texts = [make(size, 0), make(size, 1)]);
  const { factor } = await growthOf(() => textDifference('f', ...texts, 262_144), 524_288, prepare);
  expect(factor).toBeLessThan(LINEAR);
});
