import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, test } from 'vitest';
import { MAX_PASSAGE_LENGTH } from './passage-packing.ts';
import { formatOf, splitFile } from './passages.ts';
import type { TextFormat } from './passages.ts';

const FORMATS: readonly TextFormat[] = ['markdown', 'json', 'yaml', 'text'];

function shape(format: TextFormat, content: string) {
  return splitFile(format, content).passages.map(({ headings, lines, text }) => [
    headings.join(' > '),
    lines.join('-'),
    text,
  ]);
}

describe('markdown', () => {
  test('splits at headings, knows their path and lines', () => {
    const content = '# Deploy\n\nBefore.\n\n## Roll back\r\n\r\nRun it.\n\n### Drain\nWait.\n\n## Last\n';
    expect(shape('markdown', content)).toEqual([
      ['Deploy', '3-3', 'Before.'],
      ['Deploy > Roll back', '7-7', 'Run it.'],
      ['Deploy > Roll back > Drain', '10-10', 'Wait.'],
      ['Deploy > Last', '12-12', '## Last'],
    ]);
    expect(splitFile('markdown', content).title).toBe('Deploy');
  });

  test('reads underlined headings, but not comments in fenced code or tables', () => {
    const content = 'Title\n=====\n\na\n\n```sh\n# comment\n~~~\n```\n\nPart\n----\nb\n\n| x |\n---\n';
    expect(shape('markdown', content)).toEqual([
      ['Title', '4-9', 'a\n\n```sh\n# comment\n~~~\n```'],
      ['Title > Part', '13-16', 'b\n\n| x |\n---'],
    ]);
  });

  test('front matter gives title, tags and triggers and is a passage itself', () => {
    const split = splitFile(
      'markdown',
      '---\ntitle: Leases\ntags: [lock, 7]\ntriggers:\n  - fence it\n---\n# Other\nBody\n',
    );
    expect(split.title).toBe('Leases');
    expect(split.tags).toEqual(['lock', '7', 'fence it']);
    expect(split.passages.map(({ lines }) => lines)).toEqual([
      [2, 5],
      [8, 8],
    ]);
  });

  test.each(['---\ntitle: [a\n---\nx', '---\n- a\n---\nx', '---\ntitle: x', `---\n${'['.repeat(8_000)}\n---\nx`])(
    'front matter that is none is text (%#)',
    (content) => {
      const split = splitFile('markdown', content);
      expect(split.tags).toEqual([]);
      expect(split.passages.map(({ text }) => text).join('')).toContain('---');
    },
  );

  test('a long section is packed to the limit, at sentences', () => {
    const sentence = 'The writer takes all that wait, at most two hundred calls. ';
    const [first, ...rest] = splitFile('markdown', `# H\n\n${sentence.repeat(60)}`).passages;
    expect(rest.length).toBeGreaterThan(1);
    expect(first?.text.endsWith('calls.')).toBe(true);
    expect(first?.text.length).toBeGreaterThan(MAX_PASSAGE_LENGTH - 2 * sentence.length);
  });
});

describe('structured text', () => {
  test('JSON by top-level key; small neighbours share a passage', () => {
    const content = `{\n  "title": "Rates",\n  "tags": ["fx"],\n  "big": "${'rate. '.repeat(150)}",\n  "last": {"a": [1, "}"]}\n}`;
    const split = splitFile('json', content);
    expect(split.title).toBe('Rates');
    expect(split.tags).toEqual(['fx']);
    expect(split.passages).toHaveLength(1);
    const [first, second] = splitFile(
      'json',
      content.replace('"last"', `"wide": "${'word '.repeat(200)}", "last"`),
    ).passages;
    expect([first?.headings, first?.lines]).toEqual([[], [2, 4]]);
    expect([second?.headings, second?.lines]).toEqual([[], [5, 5]]);
  });

  test('JSON array by item', () => {
    const item = (name: string) => JSON.stringify({ name, text: 'x '.repeat(400) });
    const split = splitFile('json', `[${item('a')},\n${item('b')}]`);
    expect(split.passages.map(({ lines, text }) => [lines, text.slice(0, 11)])).toEqual([
      [[1, 1], '{"name":"a"'],
      [[2, 2], '{"name":"b"'],
    ]);
  });

  test('a data island shows its triggers', () => {
    expect(splitFile('json', '{"island": {"triggers": ["fx rate"]}, "data": {}}').tags).toEqual(['fx rate']);
  });

  test('YAML by top-level key', () => {
    const content = `# head\na: 1\nlong: |\n${'  words of it\n'.repeat(85)}z: end\n`;
    expect(shape('yaml', content).map(([headings, lines]) => [headings, lines])).toEqual([
      ['a', '1-2'],
      ['long', '3-88'],
      ['z', '89-89'],
    ]);
  });

  test.each(['{"a": ', '["x" "y"]', '7', '', '{}', '[]'])('JSON without members is plain text: %s', (content) => {
    expect(splitFile('json', content).passages.map(({ text }) => text)).toEqual([content.trim()]);
  });
});

test('formats go by extension', () => {
  expect(['a/b.md', 'A.JSON', 'x.yml', 'notes.txt', 'md'].map(formatOf)).toEqual([
    'markdown',
    'json',
    'yaml',
    'text',
    'text',
  ]);
});

const hostile = {
  backtracking: '(a+)+$'.repeat(17_000),
  brackets: '['.repeat(100_000),
  closedBrackets: '['.repeat(50_000) + ']'.repeat(50_000),
  objects: '{"a":'.repeat(100_000),
  giantLine: 'word '.repeat(200_000),
  giantWord: 'x'.repeat(1_000_000),
  marks: '\u0315\u0300'.repeat(50_000),
  fences: '```\n'.repeat(100_000),
  hashes: '#'.repeat(100_000),
  underlines: 'a\n-\n'.repeat(50_000),
  surrogates: '\ud800'.repeat(5_000),
  keys: 'a:\n'.repeat(100_000),
  frontMatter: `---\n${'a: &a [*a, *a]\n'.repeat(500)}---\n`,
  giantHeading: `# ${'h'.repeat(100_000)}\n${'text. '.repeat(50_000)}`,
};

describe.each(Object.entries(hostile))('hostile %s', (_, content) => {
  test.each(FORMATS)('as %s', (format) => {
    for (const passage of splitFile(format, content).passages) {
      expect(passage.text.length).toBeLessThanOrEqual(MAX_PASSAGE_LENGTH);
      expect(passage.headings.join('').length).toBeLessThanOrEqual(1_200);
    }
  });
});

test('any text: passages are verbatim, ordered, within the limit, with the right lines, and keep every word', () => {
  const piece = fc.constantFrom(
    '# A\n',
    '## B\n',
    'word one. ',
    'x',
    '\n',
    '\n\n',
    '- item\n',
    '{',
    '}',
    '"k": 1,',
    'k: v\n',
    '---\n',
    '```\n',
    '漢字。',
    '\r\n',
    'long '.repeat(100),
  );
  const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.constantFrom(...FORMATS), fc.oneof(text, fc.string({ unit: 'binary' })), (format, content) => {
      const { passages } = splitFile(format, content);
      let end = 0;
      for (const passage of passages) {
        expect(passage.start).toBeGreaterThanOrEqual(end);
        end = passage.end;
        expect(passage.text).toBe(content.slice(passage.start, passage.end));
        expect(passage.text.length).toBeLessThanOrEqual(MAX_PASSAGE_LENGTH);
        const from = content.slice(0, passage.start).split('\n').length;
        expect(passage.lines).toEqual([from, from + passage.text.split('\n').length - 1]);
      }
      if (format !== 'text') return;
      expect(
        passages
          .map((passage) => passage.text)
          .join('')
          .replaceAll(/\s/g, ''),
      ).toBe(content.replaceAll(/\s/g, ''));
    }),
    { numRuns: runs(500) },
  );
});

test('a glossary keeps its headings; headings, titles and tags that would cost many times the text do not', () => {
  const glossary = splitFile(
    'markdown',
    Array.from({ length: 400 }, (_, index) => `## Term number ${index}\nWhat it means, in a line of its own.\n`).join(
      '\n',
    ),
  );
  expect(glossary.passages).toHaveLength(400);
  expect(glossary.passages[7]?.headings).toEqual(['Term number 7']);
  const long = 'a heading of many words '.repeat(8).trim();
  const content = `---\ntags: [${'some tag, '.repeat(100)}]\n---\n# ${long}\n${'## a\nb\n'.repeat(500)}`;
  const bounded = splitFile('markdown', content);
  const labels = bounded.passages.reduce((sum, { headings }) => sum + headings.join('').length, 0);
  expect(labels + bounded.passages.length * bounded.tags.join('').length).toBeLessThan(content.length * 3);
  expect(bounded.title).toBe(long);
  expect(bounded.passages.map(({ text }) => text).join('\n')).toContain('## a\nb\n## a\nb');
});
