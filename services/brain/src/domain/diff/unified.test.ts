import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { lineEdits, linesOf } from './line-edits.ts';
import { textDifference } from './unified.ts';

const line = fc.constantFrom('a\n', 'b\n', 'c\n', 'the same\n', 'x\r\n', '\n', 'ü\n');
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom('', '', 'no end'))
  .map(([lines, last]) => lines.join('') + last);

function applied(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const made: string[] = [];
  let place = 0;
  for (const { from, removed, to, added } of lineEdits(old, now)) {
    made.push(...old.slice(place, from), ...now.slice(to, to + added));
    place = from + removed;
  }
  return [...made, ...old.slice(place)].join('');
}

test('the edits make the one text of the other, whatever the two are', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(applied(before, after)).toBe(after);
    }),
    { numRuns: runs(3000), seed: 5 },
  );
});

test('there are as few edits as git finds', () => {
  const [before, after] = ['a\nb\nc\na\nb\nb\na\n', 'c\nb\na\nb\na\nc\n'];
  expect(lineEdits(linesOf('a\nb\nc\n'), linesOf('a\nx\nc\n'))).toEqual([{ from: 1, removed: 1, to: 1, added: 1 }]);
  const { added, removed } = textDifference('f', before, after, 10_000);
  expect(added + removed).toBeLessThanOrEqual(7);
});

test('a file that comes or goes is printed as such', () => {
  expect(textDifference('a.md', null, 'x\n', 1000).patch).toBe('--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+x\n');
  expect(textDifference('a.md', 'x\ny\n', null, 1000)).toEqual({
    patch: '--- a/a.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n',
    added: 0,
    removed: 2,
    truncated: false,
  });
  expect(textDifference('a.md', 'x', 'x', 1000)).toEqual({ patch: '', added: 0, removed: 0, truncated: false });
});

test('what does not fit is left out by whole hunks, and said so', () => {
  const lines = Array.from({ length: 100 }, (_, index) => `line ${index}\n`);
  const changed = lines.map((one, index) => (index % 20 === 0 ? `changed ${index}\n` : one));
  const whole = textDifference('a', lines.join(''), changed.join(''), 100_000);
  const part = textDifference('a', lines.join(''), changed.join(''), 300);
  expect(part).toMatchObject({ truncated: true, added: 5, removed: 5 });
  expect(Buffer.byteLength(part.patch)).toBeLessThanOrEqual(300);
  expect(whole.patch.startsWith(part.patch)).toBe(true);
  expect(part.patch.endsWith('\n')).toBe(true);
});
