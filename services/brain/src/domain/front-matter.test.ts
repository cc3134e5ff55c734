import { describe, expect, test } from 'vitest';
import { readFrontMatter } from '../search/front-matter.ts';
import { shownText } from './fields/hidden-fields.ts';
import { findFrontMatter, opensFrontMatter } from './front-matter.ts';
import { contentOf, readIsland } from './island/island.ts';
import { mergeMarkdown } from './merge/markdown.ts';

const MASK = [{ resource: 'brain:hr', filter: [], mask: ['salary'] }];
const YAML = 'title: Ada\nsalary: 91000\ntype: crm\n';

const FENCES: readonly (readonly [string, string])[] = [
  ['nothing behind it', '---\n'],
  ['blanks', '--- \t \n'],
  ['a no-break space', '---\u00A0\n'],
  ['an ideographic space and a mark', '---\u3000\uFEFF\n'],
  ['a line separator', '---\u2028\n'],
  ['CRLF', '---\r\n'],
];

describe.each(FENCES)('a fence with %s', (_what, fence) => {
  const yaml = fence.endsWith('\r\n') ? YAML.replaceAll('\n', '\r\n') : YAML;
  const text = `${fence}${yaml}${fence}# body\n`;

  test('is the same to search, hidden fields, islands and merges', () => {
    expect(readFrontMatter(text)).toMatchObject({ described: { title: 'Ada' }, next: text.indexOf('# body') });
    expect(shownText('x.md', text, MASK)).toBe(text.replace('91000', '"[masked]"'));
    expect(readIsland('islands/x.md', text)).toMatchObject({ type: 'crm', invalid: false });
    expect(contentOf('text', text)).toEqual({ kind: 'text', text: '# body\n' });
    const ours = text.replace('title: Ada', 'title: Countess');
    const theirs = text.replace('type: crm', 'type: hr');
    const { text: merged, clashes } = mergeMarkdown(text, ours, theirs);
    expect({ merged, clashes }).toEqual({ merged: ours.replace('type: crm', 'type: hr'), clashes: false });
  });

  test('is the same at the end of a text, and behind a byte order mark', () => {
    const ended = `\uFEFF${fence}${yaml}${fence.trimEnd()}`;
    expect(readFrontMatter(ended)).toMatchObject({ described: { title: 'Ada' }, next: ended.length });
    expect(shownText('x.md', ended, MASK)).not.toContain('91000');
    expect(contentOf('text', ended)).toEqual({ kind: 'text', text: '' });
  });
});

test.each([
  ['never ends', `---\n${YAML}`],
  ['ends in a line of its own kind', `---\n${YAML}--- end\n`],
  ['has lines that end in a carriage return alone', `---\r${YAML.replaceAll('\n', '\r')}---\r`],
  ['has such a line within', `---\ntitle: a\rsalary: 91000\r\n---\n`],
  ['holds another one', `---\n---\r\n---\n${YAML}---\n`.replace('---\n---\r\n', '---\ntitle: [\n')],
])('one that %s is hidden where fields are, and is none to the others', (_what, text) => {
  expect(opensFrontMatter(text)).toBe(true);
  expect(shownText('x.md', text, MASK)).toBeNull();
  expect(readFrontMatter(text)).toBeNull();
});

test.each(['', 'a\n---\nb\n---\n', ' ---\na: 1\n---\n', '----\na: 1\n----\n', '--- a\n---\n', '\n---\na: 1\n---\n'])(
  '%j has none',
  (text) => {
    expect(findFrontMatter(text)).toBeNull();
    expect(opensFrontMatter(text)).toBe(false);
    expect(shownText('x.md', text, MASK)).toBe(text);
  },
);
