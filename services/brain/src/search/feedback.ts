/** Words that stand out in the passages that a query found: what else its author may have meant. */
import { scanWords } from './analysis.ts';
import { stem } from './stem.ts';
import type { QueryWord } from './analysis.ts';
import type { RowStore } from './row-store.ts';
import { prepareQuery } from './scoring.ts';
import { STOP_WORDS } from './stop-words.ts';

/** Most words answered. */
export const FEEDBACK_WORDS = 16;
/** Only so many, by their share of the passages, are held against how rare they are. */
const CANDIDATES = 64;
const SHORTEST = 3;

export interface FoundPassage {
  readonly content: string;
  readonly score: number;
}

export interface FeedbackWord {
  /** Folded, lower case, as it occurs most often. */
  readonly word: string;
  /** Share of the passages, weighted by their scores, times how rare the word is among all admitted rows. */
  readonly weight: number;
}

interface Candidate {
  readonly term: string;
  readonly forms: Map<string, number>;
  share: number;
}

/**
 * The words of `passages` that are not in the query, heaviest first. Rarity is that among the admitted rows: what is
 * hidden changes nothing.
 */
export function feedbackWords(
  store: RowStore,
  admitted: ReadonlySet<number> | null,
  query: readonly QueryWord[],
  passages: readonly FoundPassage[],
): FeedbackWord[] {
  const candidates = candidatesOf(query, passages);
  const words = candidates.map(({ term, forms }) => ({ term, word: commonest(forms) }));
  const { terms } = prepareQuery(store, admitted, words);
  const rarity = new Map(terms.map(({ term, idf }) => [term, idf]));
  return candidates
    .map(({ term, share }, index) => ({ word: words[index]?.word ?? term, weight: share * (rarity.get(term) ?? 0) }))
    .sort((a, b) => b.weight - a.weight || (a.word < b.word ? -1 : 1))
    .slice(0, FEEDBACK_WORDS);
}

function candidatesOf(query: readonly QueryWord[], passages: readonly FoundPassage[]): Candidate[] {
  const asked = new Set(query.map(({ term }) => term));
  const top = passages.reduce((best, { score }) => Math.max(best, score), 0);
  const candidates = new Map<string, Candidate>();
  for (const { content, score } of passages) {
    const words = wordsOf(content).filter(({ term }) => !asked.has(term));
    for (const { word, term } of words) {
      const candidate = candidates.get(term) ?? { term, forms: new Map<string, number>(), share: 0 };
      candidates.set(term, candidate);
      candidate.share += top > 0 ? score / top / words.length : 0;
      candidate.forms.set(word, (candidate.forms.get(word) ?? 0) + 1);
    }
  }
  return [...candidates.values()].sort((a, b) => b.share - a.share || (a.term < b.term ? -1 : 1)).slice(0, CANDIDATES);
}

/** Those that may tell something: no stop words, no numbers, nothing of one or two letters. */
function wordsOf(text: string): QueryWord[] {
  const words: QueryWord[] = [];
  scanWords(text, (word) => {
    const isTelling = !STOP_WORDS.has(word) && !/^\d/.test(word) && (word.length >= SHORTEST || word > '\u2e80');
    if (isTelling) words.push({ word, term: stem(word) });
  });
  return words;
}

function commonest(forms: ReadonlyMap<string, number>): string {
  return [...forms].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))[0]?.[0] ?? '';
}
