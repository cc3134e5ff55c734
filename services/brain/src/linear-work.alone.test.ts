/** Work on text from outside is linear in it, and long work lets others in. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { applyTransforms } from '@svc/contract/transform.ts';
import { growthOf, LINEAR } from '@svc/testing/growth.ts';
import { expect, test } from 'vitest';
import { mergeFile } from './domain/merge/file.ts';
import { readYamlDocument } from './domain/yaml-document.ts';
import type { FileEntry } from './files/file-entry.ts';
import { FileTable } from './files/file-table.ts';
import { composeMessage, parseMessage } from './git/commit-message.ts';
import { compress } from './search/compress.ts';
import { rerank } from './search/rerank.ts';

const blanks = (size: number): string => `${' '.repeat(size)}x`;
const newlines = (size: number): string => `a${'\n'.repeat(size)}b`;
const keys = (size: number, text = (key: number) => `k${key}: v\n`): string =>
  Array.from({ length: Math.ceil(size / 10) }, (_, key) => text(key)).join('');

const WORK: readonly [string, number, (size: number) => unknown][] = [
  [
    'blanks in merged JSON',
    20_000,
    (size) => mergeFile({ path: 'a.json', base: '{}', ours: `{"a":${blanks(size).slice(0, -1)}1}`, theirs: '{"b":2}' }),
  ],
  [
    'keys in merged front matter',
    7_000,
    (size) => {
      const [base, front] = ['---\nk: v\n---\n', keys(size)];
      return mergeFile({ path: 'a.md', base, ours: `---\n${front}---\n`, theirs: `---\nz: z\n---\n` });
    },
  ],
  [
    'a change below many levels of merged JSON',
    80_000,
    (size) => {
      const [items, levels] = [repeated('1234567,', size), size / 1_000];
      const text = (change: number): string =>
        `${'{"a":'.repeat(levels)}{"b":[${items}0],"c":${change}}${'}'.repeat(levels)}`;
      return mergeFile({ path: 'a.json', base: text(0), ours: text(1), theirs: text(2) });
    },
  ],
  ['keys of a mapping', 15_000, (size) => readYamlDocument(keys(size))],
  ['newlines in a message', 20_000, (size) => composeMessage(newlines(size), {})],
  ['newlines in a stored message', 20_000, (size) => parseMessage(newlines(size))],
  [
    'dots in an address',
    20_000,
    (size) => applyTransforms({ filter: [], mask: 'email' }, { a: `x@${repeated('.a', size)} ` }),
  ],
  ['one long document', 400_000, (size) => rerank('cats', [repeated('Cats sat here. ', size)], 10)],
  ['files where a commit had another one', 1_000, (size) => manyBelow(size).changes()],
  [
    'a context of many lines',
    200_000,
    (size) =>
      compress({ query: 'cats', passages: [{ text: repeated('Dogs.\n\nCats sat.\n\n', size) }], budgetTokens: size }),
  ],
];

/** As many that a commit takes as it has others, and beside them an open conflict about what it has no more. */
function manyBelow(size: number): FileTable {
  const table = new FileTable();
  const names = Array.from({ length: size }, (_, number) => `${number}.md`);
  table.setHead(new Map(names.map((name) => [name, { mode: '100644', oid: 'o' }])));
  const rest = { hash: 'h', blob: 'b', bytes: 1, stat: '', modifiedAt: 0, kind: 'text', mode: '100644', problem: null };
  for (const name of names) {
    const path = `gone.md/${name}`;
    table.set({ ...rest, path, onDisk: path } as FileEntry);
  }
  table.inTheWay.add('gone.md');
  return table;
}

function repeated(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length));
}

test.each(WORK)('%s', async (_name, size, work) => {
  expect((await growthOf(work, size)).factor).toBeLessThanOrEqual(LINEAR);
});

test('a key that a mapping has twice makes it no YAML, at any depth; other keys may look alike', () => {
  expect(readYamlDocument('a: 1\nb: 2\na: 3\n')).toBeNull();
  expect(readYamlDocument('a:\n  - b: {c: 1, c: 2}\n')).toBeNull();
  expect(readYamlDocument('1: a\n"1": b\na: {a: 1}\nb: {a: 1}\n')?.toJS()).toEqual({
    1: 'b',
    a: { a: 1 },
    b: { a: 1 },
  });
});

test('ranking and compressing long documents lets others in', async () => {
  const text = repeated('Cats sat here, dogs did not. ', 2 * 1024 * 1024);
  await rerank('cats', [text.slice(0, 200_000)], 1);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const ranked = await rerank('cats dogs', [text, text.slice(0, 1024 * 1024)], 10);
  await compress({ query: 'cats', passages: [{ text }], budgetTokens: 1_000 });
  delay.disable();
  expect(ranked).toHaveLength(2);
  // One piece of the work is a few milliseconds; on a busy machine the process itself may stand still for longer.
  expect(delay.percentile(90) / 1e6).toBeLessThan(100);
});
