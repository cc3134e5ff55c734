import { expect, it } from 'vitest';
import { type Citation, citedWish, decideCited, quoted } from './citation.ts';
import { filesMeant, spellingsOf } from './resolution.ts';

const ID = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';
const citation = (over: Partial<Citation>): Citation => ({
  id: 'cit_1',
  commit: ID,
  context: 'why',
  verified: true,
  by: 'ann',
  at: 1,
  ...over,
});

it('quotes a commit by its first seven characters, with what it is cited for if anything', () => {
  expect(quoted(citation({}))).toBe('[Source: a1b2c3d] why');
  expect(quoted(citation({ context: '' }))).toBe('[Source: a1b2c3d]');
  expect(quoted({ commit: 'v1', context: 'x' })).toBe('[Source: v1] x');
});

it('takes digits for ids as the asker may read them, and other text for text alone', () => {
  const plain = (hex: string) => (hex.length === 40 ? [hex, hex.replaceAll('a', 'b')] : [hex]);
  expect(citedWish('A1B2', plain)).toEqual({ ids: [], idPrefix: 'a1b2', text: 'A1B2' });
  expect(citedWish(ID, plain)).toEqual({ ids: [ID, ID.replaceAll('a', 'b')], idPrefix: null, text: ID });
  expect(citedWish('v1.2', plain)).toEqual({ ids: [], idPrefix: null, text: 'v1.2' });
  const opaque = (hex: string) => (hex.length === 40 ? ['f'.repeat(40)] : []);
  expect(citedWish('a1b2', opaque)).toEqual({ ids: [], idPrefix: null, text: 'a1b2' });
  expect(citedWish(ID, opaque)).toMatchObject({ ids: ['f'.repeat(40)] });
});

it('finds one cited commit, none, or says that there are several', () => {
  const text = citation({ verified: false, commit: 'a1b2' });
  expect(decideCited([], 'a1b2')).toEqual({ ok: true, value: null });
  expect(decideCited([citation({})], 'a1b2')).toMatchObject({ ok: true, value: { commit: ID } });
  expect(decideCited([citation({}), citation({ commit: 'a1b2f' })], 'a1b2')).toMatchObject({ code: 'E_REF_AMBIGUOUS' });
  expect(decideCited([text, citation({})], 'a1b2')).toMatchObject({ ok: true, value: text });
});

it.each([
  ['learnings/x.md', ['learnings/x.md'], ['learnings/x.md', 'learnings/x']],
  ['learnings/x', ['learnings/x', 'learnings/x.md'], ['learnings/x', 'learnings/x.md']],
  ['data.json', ['data.json'], ['data.json']],
  ['a.b.md', ['a.b.md'], ['a.b.md']],
  ['.md', [], ['.md']],
  ['the gate: who may?', [], ['the gate: who may?', 'the gate: who may?.md']],
])('knows which files %j means, and how else it is written', (file, files, spellings) => {
  expect(filesMeant(file)).toEqual(files);
  expect(spellingsOf(file)).toEqual(spellings);
});
