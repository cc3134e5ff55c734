import { scanWords, stem } from './analysis.ts';

const SNIPPET_LENGTH = 240;
/** Text without blanks is looked at in pieces of this many units. */
const PIECE_LENGTH = 32;

interface Hit {
  readonly start: number;
  readonly end: number;
  readonly terms: readonly string[];
}

function findHits(text: string, idfs: ReadonlyMap<string, number>): Hit[] {
  const hits: Hit[] = [];
  for (const match of text.matchAll(/\S+/g)) {
    for (let from = 0; from < match[0].length; from += PIECE_LENGTH) {
      const piece = match[0].slice(from, from + PIECE_LENGTH);
      const terms: string[] = [];
      scanWords(piece, (word) => {
        const term = stem(word);
        if (idfs.has(term)) terms.push(term);
      });
      const start = match.index + from;
      if (terms.length > 0) hits.push({ start, end: start + piece.length, terms });
    }
  }
  return hits;
}

/** Slides over the hits: the window of SNIPPET_LENGTH with the highest idf sum of distinct terms, the first on a tie. */
function bestWindow(hits: readonly Hit[], idfs: ReadonlyMap<string, number>): { start: number; end: number } | null {
  let best: { start: number; end: number } | null = null;
  let bestGain = 0;
  for (let first = 0; first < hits.length; first += 1) {
    const start = hits[first]?.start ?? 0;
    const seen = new Set<string>();
    let gain = 0;
    let end = start;
    for (let next = first; next < hits.length; next += 1) {
      const hit = hits[next];
      if (hit === undefined || hit.end - start > SNIPPET_LENGTH) break;
      end = hit.end;
      for (const term of hit.terms) {
        if (!seen.has(term)) gain += idfs.get(term) ?? 0;
        seen.add(term);
      }
    }
    if (gain > bestGain) [best, bestGain] = [{ start, end }, gain];
  }
  return best;
}

function isBlank(text: string, index: number): boolean {
  return index < 0 || index >= text.length || /\s/.test(text.charAt(index));
}

/** Moves a cut inwards to the next word limit, at most PIECE_LENGTH units, else off the middle of a surrogate pair. */
function wordLimit(text: string, at: number, step: 1 | -1): number {
  for (let moved = 0; moved <= PIECE_LENGTH; moved += 1) {
    const index = at + moved * step;
    if (index <= 0 || index >= text.length || isBlank(text, index) || isBlank(text, index - 1)) return index;
  }
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at + step : at;
}

/** About 240 units of a passage around its query terms, white space as single blanks, `…` where it was cut. */
export function snippetOf(text: string, idfs: ReadonlyMap<string, number>): string {
  const { start, end } = bestWindow(findHits(text, idfs), idfs) ?? { start: 0, end: 0 };
  const spare = Math.max(SNIPPET_LENGTH - (end - start), 0);
  const lead = Math.min(start, Math.floor(spare / 3));
  const latest = Math.max(text.length - SNIPPET_LENGTH, 0);
  const from = Math.min(start - lead, latest);
  const to = Math.min(from + SNIPPET_LENGTH, text.length);
  const cutFrom = from > 0 ? Math.min(wordLimit(text, from, 1), start) : 0;
  const cutTo = to < text.length ? Math.max(wordLimit(text, to, -1), end) : text.length;
  const shown = text.slice(cutFrom, cutTo).replaceAll(/\s+/g, ' ').trim();
  return `${cutFrom > 0 ? '…' : ''}${shown}${cutTo < text.length ? '…' : ''}`;
}
