import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compress } from './compress.ts';
import { rerank } from './rerank.ts';

const docs = [
  'Bananas ripen in a paper bag.',
  'A lease expires. Later the text says that some token of some other kind is used for fencing.',
  { title: 'Fencing', content: 'The fencing token of a lease rises.' },
  { text: 'Nothing here.' },
];

describe('rerank', () => {
  test('puts the closest document with all terms first, keeps input indexes, cuts at topK', () => {
    const ranked = rerank('lease fencing token', docs, 3);
    expect(ranked.map(({ index }) => index)).toEqual([2, 1, 0]);
    expect(ranked[0]?.score).toBeLessThanOrEqual(1);
    expect(ranked[2]?.score).toBe(0);
  });

  test('breaks ties by input index', () => {
    expect(rerank('lease', ['a lease', 'a lease', 'a lease'], 10).map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test('a perfect document has score 1', () => {
    expect(rerank('fencing token', ['fencing token', 'x'], 1)).toEqual([{ index: 0, score: 1 }]);
  });

  test('an empty query scores everything 0', () => {
    expect(rerank('', docs, 10).map(({ score }) => score)).toEqual([0, 0, 0, 0]);
  });
});

describe('compress', () => {
  const passages = [
    {
      file: 'b.md',
      hash: 'hb',
      lines: [10, 12] as const,
      text: 'Weather is fine.\nA lease expires after a minute. It is renewed by\nits holder.',
    },
    { file: 'a.md', hash: 'ha', lines: [5, 5] as const, text: 'Nobody knows. The lease has a fencing token.' },
    { file: 'b.md', hash: 'hb', lines: [2, 2] as const, text: 'Unrelated words about bread.' },
  ];

  test('prints whole sentences in document order with the lines they stand in', () => {
    const { text, citations } = compress({ query: 'lease expires', passages, budgetTokens: 200 });
    expect(text).toBe(
      'Weather is fine.\nA lease expires after a minute. It is renewed by\nits holder.\n\nNobody knows. The lease has a fencing token.',
    );
    expect(citations).toEqual([
      { file: 'b.md', hash: 'hb', lines: [10, 12] },
      { file: 'a.md', hash: 'ha', lines: [5, 5] },
    ]);
  });

  test('a small budget keeps the best sentence', () => {
    const { text, citations } = compress({ query: 'lease expires', passages, budgetTokens: 9 });
    expect(text).toBe('A lease expires after a minute.');
    expect(citations).toEqual([{ file: 'b.md', hash: 'hb', lines: [11, 11] }]);
  });

  test('never over budget; each citation quotes verbatim from its lines', () => {
    const word = fc.constantFrom('lease', 'fence', 'the', 'größe', '東京', 'x.', 'y!\n', '\n\n', '- a', '  ');
    const passage = fc.array(word, { maxLength: 40 }).map((found) => found.join(' '));
    fc.assert(
      fc.property(fc.array(passage, { maxLength: 8 }), fc.integer({ min: 1, max: 80 }), (texts, budgetTokens) => {
        const given = texts.map((text, index) => ({ text, index }));
        const { text, tokens, citations } = compress({ query: 'lease größe 東京', passages: given, budgetTokens });
        expect(tokens).toBe(Math.ceil(Buffer.byteLength(text) / 4));
        expect(tokens).toBeLessThanOrEqual(budgetTokens);
        let rest = text;
        for (const { index = 0, lines } of citations) {
          const quoted = (texts[index] ?? '')
            .split('\n')
            .slice(lines[0] - 1, lines[1])
            .join('\n');
          const size =
            [...Array(quoted.length + 1).keys()].findLast((length) => quoted.includes(rest.slice(0, length))) ?? 0;
          expect(size).toBeGreaterThan(0);
          rest = rest.slice(size).replace(/^\n\n/, '');
        }
        expect(rest.trim()).toBe('');
      }),
      { numRuns: 300 },
    );
  });

  test('nothing relevant gives nothing', () => {
    expect(compress({ query: 'zebra', passages, budgetTokens: 100 })).toEqual({ text: '', tokens: 0, citations: [] });
  });
});
