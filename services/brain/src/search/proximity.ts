/** What the words of a query say of a few texts by where they stand: near each other, and in the order of the query. */
import { B, inverseFrequency, K1 } from './bm25.ts';

/** Two query terms count as near when fewer than this many positions apart. */
const WINDOW = 8;
/** A word keeps the order of the query when it stands at most so far behind the one before it there. */
const STEP = 4;
/** Of a longer query the first words count. */
const MOST_WORDS = 64;

export interface PositionedTerm {
  /** -1 = nothing has it. */
  readonly id: number;
  /** null = a stop word: it is as rare as it is among the texts. */
  readonly idf: number | null;
}

interface WordScores {
  /** Each two neighbouring terms add, weighted by their mean idf, their saturated counts of direct succession and of meetings within the window. */
  readonly proximity: number[];
  /** The same for all words as they were written, where the second follows the first. */
  readonly order: number[];
  /** BM25 of the stop words. */
  readonly common: number[];
}

function saturated(count: number): number {
  return count / (count + 1);
}

/** Of two words, the ascending positions of each. */
type PairScore = (left: readonly number[], right: readonly number[]) => number;

const nearness: PairScore = (left, right) => {
  let [direct, near, next] = [0, 0, 0];
  for (const position of left) {
    while (next < right.length && (right[next] ?? 0) < position) next += 1;
    const behind = (right[next] ?? Infinity) - position;
    const before = position - (right[next - 1] ?? -Infinity);
    if (behind === 1) direct += 1;
    if (Math.min(behind, before) < WINDOW) near += 1;
  }
  return saturated(direct) + saturated(near);
};

const succession: PairScore = (left, right) => {
  let [direct, soon, next] = [0, 0, 0];
  for (const position of left) {
    while (next < right.length && (right[next] ?? 0) < position) next += 1;
    const behind = (right[next] ?? Infinity) - position;
    if (behind === 1) direct += 1;
    if (behind <= STEP) soon += 1;
  }
  return saturated(direct) + saturated(soon);
};

/** The distinct words of a query, each with a place of its own, and their positions in the text that was read last. */
class WordPlaces {
  readonly ids: readonly number[];
  readonly positions: readonly number[][];
  readonly #numbers: Uint32Array;

  /** `numbers` is working memory: room for every term id, all zeros before and after (see `end`). */
  constructor(words: readonly PositionedTerm[], numbers: Uint32Array) {
    this.ids = [...new Set(words.map(({ id }) => id))].filter((id) => id >= 0);
    this.positions = this.ids.map(() => []);
    this.#numbers = numbers;
    for (const [place, id] of this.ids.entries()) numbers[id] = place + 1;
  }

  read(tokens: Uint32Array): void {
    for (const list of this.positions) list.length = 0;
    for (let position = 0; position < tokens.length; position += 1) {
      const number = this.#numbers[tokens[position] ?? 0] ?? 0;
      if (number > 0) this.positions[number - 1]?.push(position);
    }
  }

  end(): void {
    for (const id of this.ids) this.#numbers[id] = 0;
  }
}

/** How each two neighbours among these words stand to each other in each text. */
class Pairs {
  /** By pair: the places of both. */
  readonly #left: number[] = [];
  readonly #right: number[] = [];
  readonly #score: PairScore;
  /** Text by text. */
  readonly #scores: Float64Array;

  constructor(words: readonly PositionedTerm[], { ids }: WordPlaces, texts: number, score: PairScore) {
    const places = words.map(({ id }) => ids.indexOf(id));
    for (const [index, left] of places.entries()) {
      const right = places[index + 1] ?? -1;
      if (left < 0 || right < 0 || left === right) continue;
      this.#left.push(left);
      this.#right.push(right);
    }
    this.#score = score;
    this.#scores = new Float64Array(texts * this.#left.length);
  }

  read(text: number, positions: WordPlaces['positions']): void {
    const count = this.#left.length;
    for (let pair = 0; pair < count; pair += 1) {
      const left = positions[this.#left[pair] ?? 0] ?? [];
      const right = positions[this.#right[pair] ?? 0] ?? [];
      if (left.length > 0 && right.length > 0) this.#scores[text * count + pair] = this.#score(left, right);
    }
  }

  /** `idfs`: by place. */
  sum(text: number, idfs: readonly number[]): number {
    const count = this.#left.length;
    let sum = 0;
    for (let pair = 0; pair < count; pair += 1) {
      const weight = ((idfs[this.#left[pair] ?? 0] ?? 0) + (idfs[this.#right[pair] ?? 0] ?? 0)) / 2;
      sum += weight * (this.#scores[text * count + pair] ?? 0);
    }
    return sum;
  }
}

/** By word, and by text, how often. */
type Frequencies = readonly Uint32Array[];

/** BM25 of the words of these places, lengths relative to these texts alone. */
function commonScores(
  texts: readonly Uint32Array[],
  places: readonly number[],
  frequencies: Frequencies,
  idfs: readonly number[],
): number[] {
  const average = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(texts.length, 1);
  return texts.map(({ length }, text) => {
    const norm = K1 * (1 - B + (B * length) / Math.max(average, 1));
    return places.reduce((sum, place) => {
      const tf = frequencies[place]?.[text] ?? 0;
      return sum + ((idfs[place] ?? 0) * tf * (K1 + 1)) / (tf + norm);
    }, 0);
  });
}

/** `terms` carry a topic, `written` are all words; both in the order of the query. */
export function wordScores(
  texts: readonly Uint32Array[],
  { terms, written }: { readonly terms: readonly PositionedTerm[]; readonly written: readonly PositionedTerm[] },
  numbers: Uint32Array,
): WordScores {
  const [telling, all] = [terms.slice(0, MOST_WORDS + 1), written.slice(0, MOST_WORDS + 1)];
  const places = new WordPlaces([...telling, ...all], numbers);
  const near = new Pairs(telling, places, texts.length, nearness);
  const order = new Pairs(all, places, texts.length, succession);
  const frequencies = places.ids.map(() => new Uint32Array(texts.length));
  for (const [text, tokens] of texts.entries()) {
    places.read(tokens);
    near.read(text, places.positions);
    order.read(text, places.positions);
    for (const [place, of] of frequencies.entries()) of[text] = places.positions[place]?.length ?? 0;
  }
  places.end();
  const known = new Map([...telling, ...all].map(({ id, idf }) => [id, idf]));
  const isCommon = (place: number): boolean => known.get(places.ids[place] ?? -1) === null;
  const idfs = frequencies.map((of, place) => {
    const holders = (): number => of.reduce((count, tf) => count + Math.min(tf, 1), 0);
    return known.get(places.ids[place] ?? -1) ?? inverseFrequency(texts.length, holders());
  });
  return {
    proximity: texts.map((_, text) => near.sum(text, idfs)),
    order: texts.map((_, text) => order.sum(text, idfs)),
    common: commonScores(texts, [...idfs.keys()].filter(isCommon), frequencies, idfs),
  };
}
