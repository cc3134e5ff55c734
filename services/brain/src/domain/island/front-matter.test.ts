import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { findFrontMatter } from '../front-matter.ts';
import { parseFrontMatter, setFrontMatterMember } from './front-matter.ts';

function membersIn(text: string): Record<string, unknown> | null {
  const found = findFrontMatter(text);
  return found === null ? {} : parseFrontMatter(text.slice(found.start, found.end));
}

function bodyOf(text: string): string {
  return text.slice(findFrontMatter(text)?.body ?? 0);
}

test.each([
  ['no front matter', 'Body\n', '---\nenabled: false\n---\nBody\n'],
  ['an empty text', '', '---\nenabled: false\n---\n'],
  ['an empty front matter', '---\n---\nB', '---\nenabled: false\n---\nB'],
  ['comments alone', '---\n# why\n---\nB', '---\n# why\nenabled: false\n---\nB'],
  ['a byte order mark', '\uFEFFBody', '\uFEFF---\nenabled: false\n---\nBody'],
  ['another member', '---\ntype: a # b\n---\nB', '---\nenabled: false\ntype: a # b\n---\nB'],
  [
    'the member',
    '---\ntype: a\nenabled:   true   # on\nx: [ 1,2 ]\n---\nB',
    '---\ntype: a\nenabled:   false   # on\nx: [ 1,2 ]\n---\nB',
  ],
  ['a member without value', '---\nenabled:\ntype: a\n---\nB', '---\nenabled: false\ntype: a\n---\nB'],
  ['CRLF', '---\r\ntype: a\r\n---\r\nB\r\n', '---\r\nenabled: false\r\ntype: a\r\n---\r\nB\r\n'],
  ['a flow mapping', '---\n{ type: a }\n---\nB', '---\n{enabled: false,  type: a }\n---\nB'],
  ['an empty flow mapping', '---\n{}\n---\n', '---\n{enabled: false}\n---\n'],
  ['an indented mapping', '---\n  type: a\n  x: 1\n---\nB', '---\n  enabled: false\n  type: a\n  x: 1\n---\nB'],
  ['a quoted key', '---\n"enabled": true\n---\n', '---\n"enabled": false\n---\n'],
  ['a tag on the value', '---\nenabled: !!bool true\n---\n', '---\nenabled: !!bool false\n---\n'],
])('a member is set beside %s', (_what, text, wanted) => {
  expect(setFrontMatterMember(text, 'enabled', false)).toBe(wanted);
});

test.each([
  [
    'a list in lines',
    '---\ntriggers: # mine\n  - a # first\n  - b\ntype: x\n---\nB',
    '---\ntriggers: # mine\n  - c d\n  - "e: f"\ntype: x\n---\nB',
  ],
  [
    'a list in lines without margin',
    '---\ntriggers:\n- a\n- b\ntype: x\n---\n',
    '---\ntriggers:\n- c d\n- "e: f"\ntype: x\n---\n',
  ],
  ['a list in brackets', '---\ntriggers: [a,  b] # x\n---\n', '---\ntriggers: [c d, "e: f"] # x\n---\n'],
  ['an empty list', '---\ntriggers: []\n---\n', '---\ntriggers: [c d, "e: f"]\n---\n'],
])('triggers are set where there is %s', (_what, text, wanted) => {
  expect(setFrontMatterMember(text, 'triggers', ['c d', 'e: f'])).toBe(wanted);
});

test('a list in lines that becomes empty stays readable', () => {
  const text = '---\ntriggers:\n- a\ntype: x\n---\nB';
  const changed = setFrontMatterMember(text, 'triggers', []) ?? '';
  expect(membersIn(changed)).toEqual({ triggers: [], type: 'x' });
  expect(bodyOf(changed)).toBe('B');
});

test.each([
  ['broken YAML', '---\na: [\n---\nB'],
  ['a list', '---\n- a\n---\nB'],
  ['no end', '---\nsalary: 1\nB'],
  ['a key twice', '---\na: 1\na: 2\n---\nB'],
  ['an anchor that another member uses', '---\nenabled: &on true\nother: *on\n---\nB'],
  ['more than is read', `---\na: ${'x'.repeat(70_000)}\n---\nB`],
])('a front matter with %s is left alone', (_what, text) => {
  expect(setFrontMatterMember(text, 'enabled', false)).toBe(null);
});

const plain = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(
    fc.oneof(fc.string({ maxLength: 8 }), fc.integer(), fc.dictionary(fc.string({ maxLength: 4 }), fc.string())),
    { maxLength: 4 },
  ),
  fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 })), {
    maxKeys: 3,
  }),
);

const members = fc.dictionary(fc.stringMatching(/^[a-zA-Z][a-z -]{0,6}[a-z]$/), plain, { maxKeys: 5 });

const style = fc.record({
  indent: fc.integer({ min: 1, max: 4 }),
  indentSeq: fc.boolean(),
  collectionStyle: fc.constantFrom('any', 'block', 'flow'),
  defaultStringType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'),
} as const);

const present = fc.record({
  enabled: fc.option(fc.boolean(), { nil: undefined }),
  triggers: fc.option(fc.array(fc.string({ maxLength: 8 }), { maxLength: 4 }), { nil: undefined }),
});

const body = fc.oneof(fc.string(), fc.constantFrom('---\n', 'a\r\nb', '\n\n', '```\n---\n```\n'));

test('whatever the front matter, one member changes and the rest stays', () => {
  fc.assert(
    fc.property(
      members,
      present,
      style,
      body,
      fc.boolean(),
      fc.oneof(
        fc.boolean().map((value) => ({ key: 'enabled', value })),
        fc.array(fc.string({ maxLength: 8 }), { maxLength: 4 }).map((value) => ({ key: 'triggers', value })),
      ),
      (rest, own, how, tail, crlf, { key, value }) => {
        const yaml = stringify(JSON.parse(JSON.stringify({ ...rest, ...own })), { ...how, lineWidth: 0 });
        const lines = `---\n# mine\n${yaml}---\n`;
        const text = (crlf ? lines.replaceAll('\n', '\r\n') : lines) + tail;
        const before = membersIn(text);
        fc.pre(before !== null && bodyOf(text) === tail);
        const changed = setFrontMatterMember(text, key, value);
        expect(changed).not.toBe(null);
        expect(membersIn(changed ?? '')).toEqual({ ...before, [key]: value });
        expect(bodyOf(changed ?? '')).toBe(tail);
        expect(changed).toContain('# mine');
        expect(setFrontMatterMember(changed ?? '', key, value)).toBe(changed);
      },
    ),
    { numRuns: runs(3000), seed: 11 },
  );
});

test('lines of other members stay byte for byte', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[a-z]{1,6}: {1,3}[a-z0-9]{1,9} {0,2}(# [a-z ]{0,9})?$/), { maxLength: 6 }),
      fc.array(fc.stringMatching(/^[a-z]{1,6}: {1,3}[a-z0-9]{1,9} {0,2}(# [a-z ]{0,9})?$/), { maxLength: 6 }),
      fc.constantFrom('enabled: true # yes', 'enabled:', 'enabled:   false', ''),
      body,
      (above, below, own, tail) => {
        const text = `---\n${[...above, own, ...below].map((line) => `${line}\n`).join('')}---\n${tail}`;
        const before = membersIn(text);
        fc.pre(before !== null && bodyOf(text) === tail && before['enabled'] !== true);
        const changed = setFrontMatterMember(text, 'enabled', true) ?? '';
        const others = (whole: string): string[] => whole.split('\n').filter((line) => !line.startsWith('enabled:'));
        expect(others(changed)).toEqual(others(text));
      },
    ),
    { numRuns: runs(2000), seed: 12 },
  );
});
