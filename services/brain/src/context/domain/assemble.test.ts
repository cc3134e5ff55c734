import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { assemble, LAYERS, type Piece, type Pieces, tokensOf } from './assemble.ts';

const NOTHING: Pieces = { static: [], tools: [], islands: [], knowledge: [], history: [], dynamic: [] };

function piece(file: string, text: string, line = 1): Piece {
  return { title: file, text, source: { file, line, commit: null, hash: 'h' } };
}

const line = fc.constantFrom('', ' ', 'word '.repeat(20), 'ä€😀'.repeat(9), '- item', 'x'.repeat(300));
const text = fc.array(line, { maxLength: 40 }).map((lines) => lines.join('\n'));
const somePieces = fc.array(
  fc.record({ title: fc.constantFrom('a.md', 'b/c.md'), text, line: fc.integer({ min: 1, max: 99 }) }),
  { maxLength: 8 },
);
const pieces = fc.record(
  Object.fromEntries(
    LAYERS.map((name) => [name, somePieces.map((all) => all.map((one) => piece(one.title, one.text, one.line)))]),
  ) as { [Name in keyof Pieces]: fc.Arbitrary<Piece[]> },
);

test('never more than the budget, always the same text, every quotation where its citation says', () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 256, max: 4000 }), (given, budget) => {
      const made = assemble(given, budget);
      expect(made.tokens).toBe(tokensOf(made.text));
      expect(made.tokens).toBeLessThanOrEqual(budget);
      expect(assemble(structuredClone(given), budget)).toEqual(made);
      for (const {
        file,
        lines: [first, last],
        layer,
      } of made.citations) {
        const quoted = given[layer].some(({ title, text: whole, source }) => {
          const part = whole.split('\n').slice(first - (source?.line ?? 1), last - (source?.line ?? 1) + 1);
          return title === file && made.text.includes(part.join('\n').trimEnd());
        });
        expect(quoted).toBe(true);
      }
      expect(made.breakpoints.length).toBeLessThanOrEqual(4);
    }),
    { numRuns: runs(300) },
  );
});

test('stands in the order of the layers, with the hash of everything up to each of the first four', () => {
  const given = Object.fromEntries(
    LAYERS.map((name) => [name, [piece(`${name}.md`, `of ${name}`)]]),
  ) as unknown as Pieces;
  const { text: whole, layers, breakpoints } = assemble(given, 1000);
  expect(layers.map(({ name }) => name)).toEqual(LAYERS);
  expect(breakpoints.map(({ after }) => after)).toEqual(['static', 'tools', 'islands', 'knowledge']);
  expect(whole.indexOf('of static')).toBeLessThan(whole.indexOf('of tools'));
  const other = assemble({ ...given, knowledge: [piece('knowledge.md', 'of knowledge and more')] }, 1000);
  expect(other.breakpoints.slice(0, 3)).toEqual(breakpoints.slice(0, 3));
  expect(other.breakpoints[3]?.hash).not.toBe(breakpoints[3]?.hash);
});

test('cuts between paragraphs, between lines where a paragraph is too long, never within one', () => {
  const paragraphs = Array.from({ length: 50 }, (_, at) => `paragraph ${at}\nits second line`).join('\n\n');
  const cut = assemble({ ...NOTHING, knowledge: [piece('a.md', paragraphs)] }, 256);
  expect(cut.text.trimEnd()).toMatch(/its second line$/);
  expect(cut.layers).toMatchObject([{ name: 'knowledge', items: 1, truncated: true }]);
  const lines = Array.from({ length: 200 }, (_, at) => `line ${at} of one paragraph`).join('\n');
  expect(assemble({ ...NOTHING, knowledge: [piece('a.md', lines)] }, 256).text.trimEnd()).toMatch(/of one paragraph$/);
  const tooLong = assemble({ ...NOTHING, knowledge: [piece('a.md', 'x'.repeat(5000)), piece('b.md', 'fits')] }, 256);
  expect(tooLong.citations.map(({ file }) => file)).toEqual(['b.md']);
});

test('what a layer leaves goes to knowledge, and what that leaves to the notes', () => {
  const long = Array.from({ length: 400 }, (_, at) => `note ${at}`).join('\n\n');
  const alone = assemble({ ...NOTHING, static: [piece('goals.md', long)] }, 1000);
  expect(alone.tokens).toBeGreaterThan(950);
  const both = assemble({ ...NOTHING, static: [piece('goals.md', long)], knowledge: [piece('k.md', long)] }, 1000);
  const [notes, knowledge] = both.layers;
  expect(notes?.tokens).toBeLessThanOrEqual(400);
  expect(knowledge?.tokens).toBeGreaterThan(550);
});

test('is empty of nothing', () => {
  expect(assemble(NOTHING, 256)).toEqual({ text: '', tokens: 0, layers: [], breakpoints: [], citations: [] });
});
