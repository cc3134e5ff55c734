import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CommitHandles } from './commit-handles.ts';

const KEY = new Uint8Array(32).fill(7);
const id = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('hex'));
const commitOf = (text: string): string => hash('sha1', text, 'hex');

test('a handle leads back to its commit and has the form of an id', () => {
  const handles = new CommitHandles(KEY, 'brn_1');
  fc.assert(
    fc.property(id, (commit) => {
      const handle = handles.handleOf(commit);
      expect(handle).toMatch(/^[0-9a-f]{40}$/);
      expect(handles.idOf(handle)).toBe(commit);
      expect(handles.handleOf(handles.idOf(commit))).toBe(commit);
    }),
    { numRuns: 100, seed: 3 },
  );
});

test('handles of 3,000 commits differ, share no half with the ids, and differ by brain and by key', () => {
  const all = [
    new CommitHandles(KEY, 'brn_1'),
    new CommitHandles(KEY, 'brn_2'),
    new CommitHandles(new Uint8Array(32), 'brn_1'),
  ];
  const seen = new Set<string>();
  for (let index = 0; index < 3000; index += 1) {
    const commit = commitOf(`commit ${index}`);
    const handle = all[index % 3]?.handleOf(commit) ?? '';
    expect(handle.startsWith(commit.slice(0, 8)) || handle.endsWith(commit.slice(-8))).toBe(false);
    seen.add(handle);
  }
  expect(seen.size).toBe(3000);
  const [one] = all;
  expect(new Set(all.map((handles) => handles.handleOf(commitOf('x')))).size).toBe(3);
  expect(one?.idOf(all[1]?.handleOf(commitOf('x')) ?? '')).not.toBe(commitOf('x'));
});

test('one changed bit of an id changes about half of its handle, in both halves', () => {
  const handles = new CommitHandles(KEY, 'brn_1');
  const ones = (text: string): number =>
    BigInt(`0x${text || '0'}`)
      .toString(2)
      .replaceAll('0', '').length;
  let [left, right] = [0, 0];
  for (let bit = 0; bit < 160; bit += 1) {
    const base = commitOf('base');
    const other = (BigInt(`0x${base}`) ^ (1n << BigInt(bit))).toString(16).padStart(40, '0');
    const difference = (BigInt(`0x${handles.handleOf(base)}`) ^ BigInt(`0x${handles.handleOf(other)}`))
      .toString(16)
      .padStart(40, '0');
    left += ones(difference.slice(0, 20));
    right += ones(difference.slice(20));
  }
  expect(Math.abs(left / (160 * 80) - 0.5)).toBeLessThan(0.03);
  expect(Math.abs(right / (160 * 80) - 0.5)).toBeLessThan(0.03);
});

test('who sees handles has no use for ids, nor for the beginning of either; who sees ids may use both', () => {
  const handles = new CommitHandles(KEY, 'brn_1');
  const commit = commitOf('x');
  const handle = handles.handleOf(commit);
  expect(handles.opaque.readings(handle)).toEqual([commit]);
  expect(handles.opaque.readings(commit)).not.toContain(commit);
  expect(handles.opaque.readings(commit.slice(0, 8))).toEqual([]);
  expect(handles.opaque.readings(handle.slice(0, 8))).toEqual([]);
  expect(handles.plain.readings(handle)).toContain(commit);
  expect(handles.plain.readings(commit.slice(0, 8))).toEqual([commit.slice(0, 8)]);
});

test('messages keep no id that a guess could be held against', () => {
  const handles = new CommitHandles(KEY, 'brn_1');
  const commit = `${'0a'.repeat(19)}bc`;
  const text = `Revert "x"\n\nThis reverts commit ${commit.toUpperCase()}, see ${commit.slice(0, 9)}, of 20261122.`;
  const shown = handles.opaque.shownText(text);
  expect(shown).toBe(`Revert "x"\n\nThis reverts commit ${handles.handleOf(commit)}, see [id], of 20261122.`);
  expect(handles.plain.shownText(text)).toBe(text);
});
