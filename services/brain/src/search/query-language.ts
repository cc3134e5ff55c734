/** How a query is read: words, and what is said about them. Whatever is no operator is words; nothing is an error. */
import { z } from 'zod';
import { analyse, analysePhrase, type Phrase, type QueryWord, telling, wordsOfQuery } from './analysis.ts';
import { foldLetters } from './fold-letters.ts';
import { STOP_WORDS } from './stop-words.ts';

/** What was understood of a query beside plain words, for the answer; parts that it does not have are absent. */
export const Understood = z.strictObject({
  words: z.array(z.string()).readonly(),
  /** In quotes: passages with these words in this order come first. */
  phrases: z.array(z.string()).readonly().exactOptional(),
  /** One of them is enough. */
  any: z.array(z.array(z.string()).readonly()).readonly().exactOptional(),
  prefixes: z.array(z.string()).readonly().exactOptional(),
  /** Files with one of these are left out. */
  not: z.array(z.string()).readonly().exactOptional(),
  /** Only files of one of these directories, names or patterns. */
  paths: z.array(z.string()).readonly().exactOptional(),
  /** Only files that were written at that time or later, and before that time. */
  since: z.string().exactOptional(),
  until: z.string().exactOptional(),
});
export type Understood = Readonly<z.output<typeof Understood>>;

export interface ReadQuery {
  readonly words: readonly QueryWord[];
  /** The same with stop words, in the order in which they were written. */
  readonly written: readonly QueryWord[];
  /** Stop words included. */
  readonly phrases: readonly Phrase[];
  /** Terms of which one is enough. */
  readonly any: readonly (readonly string[])[];
  /** Folded, lower case. */
  readonly prefixes: readonly string[];
  readonly not: readonly Phrase[];
  readonly paths: readonly string[];
  /** Milliseconds since the epoch: not before, and before. */
  readonly since: number | null;
  readonly until: number | null;
  readonly understood: Understood;
}

/** Operators beyond so many of a kind are plain words. */
const MOST_OF_A_KIND = 8;
const SHORTEST_PREFIX = 2;

const QUOTED = /^(-?)"([^"]+)"$/;
const EXCLUDED = /^-([^-"].*)$/u;
/** What may end an excluded word without being a part of it. */
const ENDINGS = ',.;:!?)*';
/** An option of a command. */
const FLAG = /^[A-Za-z0-9]$/;
const PREFIX = /^([\p{L}\p{N}][\p{L}\p{M}\p{N}_]*)\*$/u;
const FIELD = /^(path|category|since|until):(.+)$/i;
/** A version, an address, a day: numbers whose order says everything, and which alone say nothing. */
const NUMBERED = /^\p{P}*(v?\d{1,6}(?:[.-]\d{1,6}){2,5})\p{P}*$/u;
const DATE = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$/;
/** Words, and what stands in quotes or behind a field name with quotes. */
const PIECES = /-?"[^"]+"|(?:path|category|since|until):"[^"]+"|\S+/gi;

/** The first moment of a year, month or day, and that of the next; null when there is no such day. */
export function timeSpan(text: string): { readonly from: number; readonly to: number } | null {
  const [, year = '', month, day] = DATE.exec(text) ?? [];
  if (year === '') return null;
  const [y, m, d] = [Number(year), Number(month ?? '1') - 1, Number(day ?? '1')];
  const from = Date.UTC(y, m, d);
  const date = new Date(from);
  if (date.getUTCMonth() !== m || date.getUTCDate() !== d) return null;
  const to = day !== undefined ? Date.UTC(y, m, d + 1) : month !== undefined ? Date.UTC(y, m + 1) : Date.UTC(y + 1, 0);
  return { from, to };
}

class QueryReader {
  readonly plain: string[] = [];
  readonly phrases: string[] = [];
  readonly any: string[][] = [];
  readonly prefixes: string[] = [];
  readonly not: string[] = [];
  readonly paths: string[] = [];
  since = '';
  until = '';
  #joins = false;

  read(piece: string): void {
    if (piece === 'OR' && this.#lastWord() !== null) {
      this.#joins = true;
      return;
    }
    const joins = this.#joins;
    this.#joins = false;
    if (joins && this.#joined(piece)) return;
    if (joins) this.plain.push('OR');
    if (!this.#readOperator(piece)) this.plain.push(piece);
  }

  /** An `OR` with nothing behind it is a word. */
  end(): void {
    if (this.#joins) this.plain.push('OR');
  }

  #lastWord(): string | null {
    const last = this.plain.at(-1);
    return last !== undefined && analyse(last).length > 0 ? last : null;
  }

  #joined(piece: string): boolean {
    const last = this.#lastWord();
    if (last === null || this.#isOperator(piece) || analyse(piece).length === 0) return false;
    const group = this.any.at(-1);
    if (group?.at(-1) === last && group.length < MOST_OF_A_KIND) group.push(piece);
    else if (group?.at(-1) !== last && this.any.length < MOST_OF_A_KIND) this.any.push([last, piece]);
    else return false;
    this.plain.push(piece);
    return true;
  }

  #isOperator(piece: string): boolean {
    return QUOTED.test(piece) || excludedOf(piece) !== null || PREFIX.test(piece) || FIELD.test(piece);
  }

  #readOperator(piece: string): boolean {
    if (QUOTED.test(piece)) return this.#readQuoted(piece);
    const excluded = excludedOf(piece);
    if (excluded !== null) return add(this.not, excluded);
    const numbered = NUMBERED.exec(piece)?.[1];
    if (numbered !== undefined) return add(this.phrases, numbered);
    return this.#readMarked(piece);
  }

  #readMarked(piece: string): boolean {
    const prefix = PREFIX.exec(piece)?.[1];
    if (prefix !== undefined) return isLongEnough(prefix) && add(this.prefixes, foldLetters(prefix).toLowerCase());
    const [, field = '', value = ''] = FIELD.exec(piece) ?? [];
    return this.#readField(field.toLowerCase(), value.replaceAll('"', ''));
  }

  /** A single word in quotes is no order of words; people emphasise so. */
  #readQuoted(piece: string): boolean {
    const [, minus, quoted = ''] = QUOTED.exec(piece) ?? [];
    return minus === '-' ? add(this.not, quoted) : analysePhrase(quoted).length > 1 && add(this.phrases, quoted);
  }

  #readField(field: string, value: string): boolean {
    if (field === 'path' || field === 'category') {
      const path = value.replace(/^\/+/, '');
      if (path === '' || this.paths.length === MOST_OF_A_KIND) return false;
      this.paths.push(path);
      return true;
    }
    if (field === '' || timeSpan(value) === null) return false;
    if (field === 'since') this.since = value;
    else this.until = value;
    return true;
  }
}

/** A word, or one of several parts, which then are meant in their order. */
function excludedOf(piece: string): string | null {
  const rest = EXCLUDED.exec(piece)?.[1] ?? '';
  let end = rest.length;
  while (end > 0 && ENDINGS.includes(rest.charAt(end - 1))) end -= 1;
  const excluded = rest.slice(0, end);
  return analyse(excluded).length === 0 || FLAG.test(excluded) || FIELD.test(excluded) ? null : excluded;
}

function isLongEnough(prefix: string): boolean {
  return prefix.length >= SHORTEST_PREFIX || prefix > '\u2e80';
}

/** False when it says nothing, or there are too many. */
function add(list: string[], text: string): boolean {
  if (list.length === MOST_OF_A_KIND || analyse(text).length === 0) return false;
  list.push(text);
  return true;
}

function ifAny<Name extends string, Value>(name: Name, list: readonly Value[]): { [key in Name]?: readonly Value[] } {
  return list.length === 0 ? {} : ({ [name]: list } as { [key in Name]: readonly Value[] });
}

/** Linear in the query. */
export function readQuery(query: string): ReadQuery {
  const reader = new QueryReader();
  for (const [piece] of query.matchAll(PIECES)) reader.read(piece);
  reader.end();
  const { plain, phrases, any, prefixes, not, paths, since, until } = reader;
  const joined = new Set(any.flat());
  // Words of phrases count like any other.
  const written = wordsOfQuery([...plain.filter((word) => !joined.has(word)), ...phrases].join(' '));
  const words = wordsThatCount(written, any.length + prefixes.length > 0);
  return {
    words,
    written,
    phrases: phrases.map(analysePhrase),
    any: any.map((group) => [...new Set(group.flatMap(analyse))]),
    prefixes,
    not: not.map(analysePhrase),
    paths,
    since: timeSpan(since)?.from ?? null,
    until: timeSpan(until)?.to ?? null,
    understood: {
      words: words.map(({ word }) => word),
      ...ifAny('phrases', phrases),
      ...ifAny('any', any),
      ...ifAny('prefixes', prefixes),
      ...ifAny('not', not),
      ...ifAny('paths', paths),
      ...(since === '' ? {} : { since }),
      ...(until === '' ? {} : { until }),
    },
  };
}

/** Stop words alone count only where there is nothing else. */
function wordsThatCount(written: readonly QueryWord[], hasMore: boolean): readonly QueryWord[] {
  return hasMore ? written.filter(({ word }) => !STOP_WORDS.has(word)) : telling(written);
}

/** The query as plain words: nothing in it is an operator any more. */
export function plainWords(text: string): string {
  return text.replaceAll(/["*:]|(?<![\p{L}\p{N}])-+|(?<=\d)[.-](?=\d)/gu, ' ').replaceAll(/(?<!\S)OR(?!\S)/g, 'or');
}

/** Whether the path is that file, below that directory, or as that pattern says, where `*` stands for anything; empty = any. */
export function isWithin(path: string, wanted: string): boolean {
  if (wanted === '') return true;
  if (!wanted.includes('*')) {
    const directory = wanted.endsWith('/') ? wanted : `${wanted}/`;
    return path === wanted || path.startsWith(directory);
  }
  const [first = '', ...rest] = wanted.split('*');
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const [number, part] of rest.entries()) {
    if (number === rest.length - 1) return path.length - part.length >= at && path.endsWith(part);
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}
