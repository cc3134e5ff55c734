import { analyseQuery, scanWords, textPieces } from './analysis.ts';
import { stem } from './stem.ts';
import { B, inverseFrequency, K1, roundScore } from './bm25.ts';
import { Slices } from '../thread/slices.ts';

/** Chosen, not measured: a caller gives a handful of texts, and there is no collection of such. */
const WEIGHTS = { bm25: 0.6, share: 0.25, proximity: 0.15 } as const;

/** A text to be ranked; `content` wins over `text`. */
export type RerankDocument = string | { readonly content?: string; readonly text?: string; readonly title?: string };

interface RankedDocument {
  /** Position in the input. */
  readonly index: number;
  /** 0..1, rounded to 1e-9. */
  readonly score: number;
}

function textOf(document: RerankDocument): string {
  if (typeof document === 'string') return document;
  return `${document.title ?? ''}\n${document.content ?? document.text ?? ''}`;
}

interface Counted {
  /** Words of the text. */
  readonly length: number;
  /** Of the query's terms only. */
  readonly counts: ReadonlyMap<string, number>;
  /** Query terms present per word of the shortest run of words that holds them all; 0 with fewer than two. */
  readonly closeness: number;
}

/** Keeps nothing of a text but what its rank is made of, however long it is. */
class TermCounter {
  readonly #query: ReadonlySet<string>;
  readonly #counts = new Map<string, number>();
  /** Where each term was seen last, the one longest ago first. */
  readonly #lastSeen = new Map<string, number>();
  #length = 0;
  #shortest = Infinity;

  constructor(query: ReadonlySet<string>) {
    this.#query = query;
  }

  add(term: string): void {
    const place = this.#length;
    this.#length += 1;
    if (!this.#query.has(term)) return;
    const before = this.#counts.get(term) ?? 0;
    this.#counts.set(term, before + 1);
    if (before === 0) this.#shortest = Infinity; // no run so far holds this one
    this.#lastSeen.delete(term);
    this.#lastSeen.set(term, place);
    const [oldest = place] = this.#lastSeen.values();
    this.#shortest = Math.min(this.#shortest, place - oldest + 1);
  }

  result(): Counted {
    const { size } = this.#counts;
    return { length: this.#length, counts: this.#counts, closeness: size < 2 ? 0 : size / this.#shortest };
  }
}

async function count(text: string, query: ReadonlySet<string>, slices: Slices): Promise<Counted> {
  const counter = new TermCounter(query);
  for (const piece of textPieces(text)) {
    scanWords(piece, (word) => counter.add(stem(word)));
    if (slices.isOver) await slices.pause();
  }
  return counter.result();
}

/** BM25 of each text, the texts being the whole collection. */
function bm25Scores(documents: readonly Counted[], query: ReadonlyMap<string, number>): number[] {
  const average = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(documents.length, 1);
  const idfs = [...query.keys()].map((term) => {
    return inverseFrequency(documents.length, documents.filter(({ counts }) => counts.has(term)).length);
  });
  return documents.map(({ length, counts }) => {
    let score = 0;
    [...query].forEach(([term, weight], index) => {
      const tf = counts.get(term) ?? 0;
      const norm = K1 * (1 - B + (B * length) / Math.max(average, 1));
      score += (weight * (idfs[index] ?? 0) * tf * (K1 + 1)) / (tf + norm);
    });
    return score;
  });
}

/**
 * Ranks documents for a query by 0.6 BM25 (relative to the best) + 0.25 share of the query's terms + 0.15 proximity
 * (of those present, over the whole query's terms). Ties by input index. Returns the first `topK`. Lets others in
 * between the pieces of its work, which is linear in the documents.
 */
export async function rerank(
  query: string,
  documents: readonly RerankDocument[],
  topK: number,
): Promise<RankedDocument[]> {
  const weights = new Map<string, number>();
  for (const { term } of analyseQuery(query)) weights.set(term, (weights.get(term) ?? 0) + 1);
  const terms = new Set(weights.keys());
  const slices = new Slices();
  const counted: Counted[] = [];
  for (const document of documents) counted.push(await count(textOf(document), terms, slices));
  const bm25 = bm25Scores(counted, weights);
  const top = bm25.reduce((best, score) => Math.max(best, score), 0);
  const ranked = counted.map(({ counts, closeness }, index): RankedDocument => {
    const share = counts.size / Math.max(terms.size, 1);
    const lexical = top > 0 ? (bm25[index] ?? 0) / top : 0;
    const score = WEIGHTS.bm25 * lexical + WEIGHTS.share * share + WEIGHTS.proximity * closeness * share;
    return { index, score: roundScore(score) };
  });
  return ranked.sort((left, right) => right.score - left.score || left.index - right.index).slice(0, topK);
}
