import { analyseQuery, scanWords, textPieces } from './analysis.ts';
import { stem } from './stem.ts';
import { inverseFrequency } from './bm25.ts';
import { countNewlines, sentenceSpans } from './sentences.ts';
import { Slices } from '../thread/slices.ts';

/** A sentence next to a good one is worth this share of its gain: evidence seldom ends at a full stop. Chosen, not measured. */
const CONTEXT_SHARE = 0.25;
/** Printed between passages, and between sentences that are not neighbours. */
const SEPARATOR = '\n\n';

/** A verbatim piece of a file (or of the input document `index`); better passages come first. */
interface CompressiblePassage {
  readonly text: string;
  /** Lines of the text in its file, 1-based; without them the text is a document of its own. */
  readonly lines?: readonly [from: number, to: number];
  readonly file?: string;
  readonly index?: number;
  readonly commit?: string | null;
  readonly hash?: string;
}

/** Where a printed run of sentences stands; it is verbatim in these lines. */
export interface Citation {
  readonly file?: string;
  readonly index?: number;
  readonly lines: readonly [from: number, to: number];
  readonly commit?: string | null;
  readonly hash?: string;
}

export interface CompressedText {
  readonly text: string;
  /** ceil(UTF-8 bytes / 4) of the text, at most the budget. */
  readonly tokens: number;
  /** One per printed run, in the order of the text. */
  readonly citations: readonly Citation[];
}

interface Sentence {
  readonly passage: CompressiblePassage;
  readonly start: number;
  readonly end: number;
  /** Bytes with what may be printed before it: the gap to the sentence above, or the separator. */
  readonly bytes: number;
  readonly terms: ReadonlySet<string>;
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

function textOf({ passage, start, end }: Sentence): string {
  return passage.text.slice(start, end);
}

/** Passages of one source together, sources in order of first appearance, each from top to bottom. */
function inDocumentOrder(passages: readonly CompressiblePassage[]): CompressiblePassage[] {
  const sources = new Map<string, number>();
  const sourceOf = ({ file, index }: CompressiblePassage, position: number): number => {
    const source = file === undefined ? `#${index ?? position}` : `/${file}`;
    const known = sources.get(source) ?? sources.size;
    sources.set(source, known);
    return known;
  };
  return passages
    .map((passage, position) => ({ passage, position, source: sourceOf(passage, position) }))
    .sort((a, b) => {
      const lines = (a.passage.lines?.[0] ?? 1) - (b.passage.lines?.[0] ?? 1);
      return a.source - b.source || lines || a.position - b.position;
    })
    .map(({ passage }) => passage);
}

/** Sentences beyond are not looked at: the better passages come first. */
const MAX_SENTENCES = 50_000;
const NO_TERMS: ReadonlySet<string> = new Set();

async function sentencesOf(passages: readonly CompressiblePassage[], query: ReadonlySet<string>): Promise<Sentence[]> {
  const slices = new Slices();
  const sentences: Sentence[] = [];
  for (const passage of passages) {
    let above = 0;
    for (const [start, end] of sentenceSpans(passage.text)) {
      if (sentences.length === MAX_SENTENCES) return sentences;
      const terms = await termsIn(passage.text.slice(start, end), query, slices);
      const gap = Math.max(byteLength(passage.text.slice(above, start)), SEPARATOR.length);
      above = end;
      sentences.push({ passage, start, end, bytes: byteLength(passage.text.slice(start, end)) + gap, terms });
      if (slices.isOver) await slices.pause();
    }
  }
  return sentences;
}

async function termsIn(text: string, query: ReadonlySet<string>, slices: Slices): Promise<ReadonlySet<string>> {
  let found: Set<string> | null = null;
  for (const piece of textPieces(text)) {
    scanWords(piece, (word) => {
      const term = stem(word);
      if (query.has(term)) found = (found ?? new Set()).add(term);
    });
    if (slices.isOver) await slices.pause();
  }
  return found ?? NO_TERMS;
}

/** Idf sum of a sentence's query terms, plus a share of its neighbours' in the same passage. */
function gainsOf(sentences: readonly Sentence[]): number[] {
  const frequencies = new Map<string, number>();
  for (const { terms } of sentences) for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
  const idfOf = (term: string): number => inverseFrequency(sentences.length, frequencies.get(term) ?? 0);
  const own = sentences.map(({ terms }) => [...terms].reduce((sum, term) => sum + idfOf(term), 0));
  return sentences.map(({ passage }, index) => {
    const gainOf = (other: number): number => (sentences[other]?.passage === passage ? (own[other] ?? 0) : 0);
    return gainOf(index) + CONTEXT_SHARE * (gainOf(index - 1) + gainOf(index + 1));
  });
}

/** Indexes of the sentences that fit, by gain per token; a text that was chosen already is not chosen again. */
function choose(sentences: readonly Sentence[], budgetBytes: number): Set<number> {
  const rates = gainsOf(sentences).map((gain, index) => gain / Math.ceil((sentences[index]?.bytes ?? 1) / 4));
  const order = [...sentences.entries()]
    .map(([index, sentence]) => ({ index, sentence, rate: rates[index] ?? 0 }))
    .filter(({ rate }) => rate > 0)
    .sort((a, b) => b.rate - a.rate || a.index - b.index);
  const texts = new Set<string>();
  const chosen = new Set<number>();
  let left = budgetBytes;
  for (const { index, sentence } of order) {
    const text = textOf(sentence);
    if (sentence.bytes > left || texts.has(text)) continue;
    texts.add(text);
    chosen.add(index);
    left -= sentence.bytes;
  }
  return chosen;
}

/** Chosen neighbours of one passage joined into runs, in document order. */
function runsOf(sentences: readonly Sentence[], chosen: ReadonlySet<number>): Run[] {
  const runs: { passage: CompressiblePassage; start: number; end: number }[] = [];
  sentences.forEach(({ passage, start, end }, index) => {
    if (!chosen.has(index)) return;
    const last = runs.at(-1);
    if (last?.passage === passage && chosen.has(index - 1)) last.end = end;
    else runs.push({ passage, start, end });
  });
  return runs;
}

interface Run {
  readonly passage: CompressiblePassage;
  readonly start: number;
  readonly end: number;
}

/** The runs of one passage are in the order of its text, so that each line is counted once. */
function citationsOf(runs: readonly Run[]): Citation[] {
  let [counted, at, line] = [runs[0]?.passage, 0, 1];
  return runs.map(({ passage, start, end }) => {
    if (passage !== counted) [counted, at, line] = [passage, 0, 1];
    line += countNewlines(passage.text, at, start);
    const last = line + countNewlines(passage.text, start, end);
    const citation = citationOf(passage, line, last);
    [at, line] = [end, last];
    return citation;
  });
}

/** `from` and `to` are lines of the passage's text, 1-based. */
function citationOf({ lines, ...source }: CompressiblePassage, from: number, to: number): Citation {
  const above = (lines?.[0] ?? 1) - 1;
  const { file, index, commit, hash } = source;
  return {
    ...(file === undefined ? {} : { file }),
    ...(index === undefined ? {} : { index }),
    lines: [above + from, above + to],
    ...(commit === undefined ? {} : { commit }),
    ...(hash === undefined ? {} : { hash }),
  };
}

/**
 * The sentences of the passages that tell most about the query within the budget, whole and verbatim, printed in
 * document order. Sentences far from any query term are left out even when there is room. Lets others in between the
 * pieces of its work, which is linear in the texts.
 */
export async function compress(request: {
  readonly query: string;
  readonly passages: readonly CompressiblePassage[];
  readonly budgetTokens: number;
}): Promise<CompressedText> {
  const query = new Set(analyseQuery(request.query).map(({ term }) => term));
  const sentences = await sentencesOf(inDocumentOrder(request.passages), query);
  const runs = runsOf(sentences, choose(sentences, request.budgetTokens * 4));
  const text = runs.map(({ passage, start, end }) => passage.text.slice(start, end)).join(SEPARATOR);
  return { text, tokens: Math.ceil(byteLength(text) / 4), citations: citationsOf(runs) };
}
