import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
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
  test('puts the closest document with all terms first, keeps input indexes, cuts at topK', async () => {
    const ranked = await rerank('lease fencing token', docs, 3);
    expect(ranked.map(({ index }) => index)).toEqual([2, 1, 0]);
    expect(ranked[0]?.score).toBeLessThanOrEqual(1);
    expect(ranked[2]?.score).toBe(0);
  });

  test('breaks ties by input index', async () => {
    const ranked = await rerank('lease', ['a lease', 'a lease', 'a lease'], 10);
    expect(ranked.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test('a perfect document has score 1', async () => {
    expect(await rerank('fencing token', ['fencing token', 'x'], 1)).toEqual([{ index: 0, score: 1 }]);
  });

  test('an empty query scores everything 0', async () => {
    const ranked = await rerank('', docs, 10);
    expect(ranked.map(({ score }) => score)).toEqual([0, 0, 0, 0]);
  });

  test('the words of a long document are the same in whatever pieces it is read', async () => {
    const filler = 'bread butter '.repeat(4_000);
    const long = `lease ${filler}fencing token ${filler}`;
    const ranked = await rerank('lease fencing', [long, `${filler}lease fencing`], 2);
    expect(ranked.map(({ index }) => index)).toEqual([1, 0]);
    expect(ranked[0]?.score).toBeGreaterThan(ranked[1]?.score ?? 1);
  });

  test('closeness is that of the shortest run with all terms, wherever they began', async () => {
    const window = (text: string, query: string) => {
      const words = text.split(' ');
      const wanted = new Set(query.split(' ').filter((term) => words.includes(term)));
      let shortest = Infinity;
      for (let from = 0; from < words.length; from += 1) {
        for (let to = from; to < words.length; to += 1) {
          const run = words.slice(from, to + 1);
          if ([...wanted].every((term) => run.includes(term))) shortest = Math.min(shortest, run.length);
        }
      }
      return wanted.size < 2 ? 0 : wanted.size / shortest;
    };
    const word = fc.constantFrom('ax', 'bo', 'cu', 'dy', 'fo', 'go');
    const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((found) => found.join(' '));
    await fc.assert(
      fc.asyncProperty(text, async (found) => {
        const query = 'ax bo cu';
        const [ranked] = await rerank(query, [found], 1);
        const share = new Set(found.split(' ').filter((term) => query.includes(term))).size / 3;
        const lexical = share === 0 ? 0 : 0.6;
        expect(ranked?.score).toBeCloseTo(lexical + 0.25 * share + 0.15 * window(found, query) * share, 8);
      }),
    );
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

  test('prints whole sentences in document order with the lines they stand in', async () => {
    const { text, citations } = await compress({ query: 'lease expires', passages, budgetTokens: 200 });
    expect(text).toBe(
      'Weather is fine.\nA lease expires after a minute. It is renewed by\nits holder.\n\nNobody knows. The lease has a fencing token.',
    );
    expect(citations).toEqual([
      { file: 'b.md', hash: 'hb', lines: [10, 12] },
      { file: 'a.md', hash: 'ha', lines: [5, 5] },
    ]);
  });

  test('a small budget keeps the best sentence', async () => {
    const { text, citations } = await compress({ query: 'lease expires', passages, budgetTokens: 9 });
    expect(text).toBe('A lease expires after a minute.');
    expect(citations).toEqual([{ file: 'b.md', hash: 'hb', lines: [11, 11] }]);
  });

  test('never over budget; each citation quotes verbatim from its lines', async () => {
    const word = fc.constantFrom('lease', 'fence', 'the', 'größe', '東京', 'x.', 'y!\n', '\n\n', '- a', '  ');
    const passage = fc.array(word, { maxLength: 40 }).map((found) => found.join(' '));
    await fc.assert(
      fc.asyncProperty(
        fc.array(passage, { maxLength: 8 }),
        fc.integer({ min: 1, max: 80 }),
        async (texts, budgetTokens) => {
          const given = texts.map((text, index) => ({ text, index }));
          const { text, tokens, citations } = await compress({
            query: 'lease größe 東京',
            passages: given,
            budgetTokens,
          });
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
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test('nothing relevant gives nothing', async () => {
    const compressed = await compress({ query: 'zebra', passages, budgetTokens: 100 });
    expect(compressed).toEqual({ text: '', tokens: 0, citations: [] });
  });
});
