/** Comparisons and merges of versions of one file, at any size. */
import type { GrowthCase, ToolCall } from './growth.ts';
import { numbered, repeated } from './growth-texts.ts';

/** `side`: 0 of the common past, 1 and 2 of those that went on from there, each with lines of its own changed. */
type Version = (size: number, side: number) => string;

const changed = (at: number, side: number): string =>
  side !== 0 && at % 100 === side ? `changed by ${side}` : 'as is';
const records = (size: number, side: number): string =>
  `[${numbered(size, (at) => `{"id": ${at}, "v": "${changed(at, side)}"},\n`)}{"id": -1}]`;
const keys = (size: number, side: number): string => numbered(size, (at) => `k${at}: ${changed(at, side)}\n`);

const VERSIONS: readonly (readonly [name: string, extension: string, size: number, Version])[] = [
  ['lines', 'txt', 500_000, keys],
  ['short lines', 'txt', 500_000, (size, side) => `${side}\n${repeated('a\nb\n', size)}${side}`],
  ['empty lines', 'txt', 500_000, (size, side) => `${side}${'\n'.repeat(size)}${side}`],
  ['one long line', 'txt', 500_000, (size, side) => `${side}${'x'.repeat(size)}`],
  ['other lines throughout', 'txt', 500_000, (size, side) => numbered(size, (at) => `${side} ${at}\n`)],
  ['keys in front matter', 'md', 7_500, (size, side) => `---\n${keys(size, side)}---\nbody\n`],
  ['items', 'json', 500_000, records],
  [
    'members',
    'json',
    500_000,
    (size, side) => `{${numbered(size, (at) => `"k${at}": "${changed(at, side)}",\n`)}"last": ${side}}`,
  ],
  [
    'a change below many levels',
    'json',
    80_000,
    (size, side) => {
      const levels = size / 1_000;
      const core = `{"b":[${repeated('1234567,', size)}0],"c":${side}}`;
      return `${'{"a":'.repeat(levels)}${core}${'}'.repeat(levels)}`;
    },
  ],
];

const fileOf = (run: number, extension: string): string => `versions/v${run}.${extension}`;

const write = (name: string, content: string, branch: string): ToolCall => ['brain_write', { name, content, branch }];
const commit = (branch: string): ToolCall => ['svc_commit', { message: 'version', branch }];

const diffs = VERSIONS.map(
  ([name, extension, size, text]): GrowthCase => ({
    name: `diff: ${name} (${extension})`,
    size,
    prepare: (asked, run) => [
      write(fileOf(run, extension), text(asked, 0), 'main'),
      commit('main'),
      write(fileOf(run, extension), text(asked, 1), 'main'),
    ],
    call: (_size, run) => ['svc_diff', { file: fileOf(run, extension), bytes: 1024 * 1024, branch: 'main' }],
  }),
);

const merges = VERSIONS.map(
  ([name, extension, size, text]): GrowthCase => ({
    name: `merge: ${name} (${extension})`,
    size,
    prepare: (asked, run) => [
      ['svc_branch_delete', { name: 'other' }],
      write(fileOf(run, extension), text(asked, 0), 'main'),
      commit('main'),
      ['svc_create_branch', { name: 'other', from: 'main' }],
      write(fileOf(run, extension), text(asked, 1), 'main'),
      commit('main'),
      write(fileOf(run, extension), text(asked, 2), 'other'),
      commit('other'),
    ],
    call: () => ['svc_branch_merge', { from: 'other', into: 'main' }],
  }),
);

export const VERSION_CASES: readonly GrowthCase[] = [...diffs, ...merges];
