import { AnalysedFile, makeRecord, type RowDraft } from './analysed-file.ts';
import { scanWords } from './analysis.ts';
import { ownCopy } from './own-copy.ts';
import { splitFile } from './passages.ts';
import { withoutEscapes } from './structured-blocks.ts';
import type { SplitFile, TextFormat } from './passages.ts';
import { RecordPages } from './record-pages.ts';
import { TermDictionary } from './term-dictionary.ts';
import { textShelf } from './text-shelf.ts';

/** An analysis made elsewhere; the terms of its record are ids of the dictionary into which it goes. */
interface ForeignAnalysis {
  readonly format: TextFormat;
  readonly hash: string;
  readonly title: string | null;
  readonly record: Uint32Array;
}

/** An object for each file and a place in two tables, about. */
const BYTES_PER_FILE = 250;

/**
 * Analysed files by content hash, and the dictionary of their terms. Several indexes (the branches of one brain)
 * share one cache; an entry lives as long as an index holds it.
 */
export class AnalysisCache {
  readonly dictionary = new TermDictionary();
  readonly records = new RecordPages();
  /** By hash, for each format. */
  readonly #files = new Map<TextFormat, Map<string, AnalysedFile>>();

  /** Number of distinct analysed contents. */
  get size(): number {
    let size = 0;
    for (const files of this.#files.values()) size += files.size;
    return size;
  }

  /** In memory, with the dictionary. */
  get bytes(): number {
    return this.dictionary.bytes + this.records.bytes + this.size * BYTES_PER_FILE;
  }

  /** The analysis of `content`, held until `release`. `hash` only finds it; other bytes under it are kept apart. */
  acquire(format: TextFormat, hash: string, content: string): AnalysedFile {
    const known = this.#files.get(format)?.get(hash);
    const analysed = known?.holds(content) === true ? known.hold() : this.#analyse({ format, hash }, content);
    textShelf.set(analysed, content);
    return analysed;
  }

  /** Whether some analysis is held under the hash. */
  has(format: TextFormat, hash: string): boolean {
    return this.#files.get(format)?.has(hash) === true;
  }

  /** Takes in an entry made elsewhere; held until `release`. */
  restore(foreign: ForeignAnalysis): AnalysedFile {
    const known = this.#files.get(foreign.format)?.get(foreign.hash);
    if (known?.isOf(foreign.record) === true) return known.hold();
    const analysed = this.#keep(new AnalysedFile(foreign, foreign.record, this));
    this.dictionary.hold(analysed.terms);
    return analysed;
  }

  release(analysed: AnalysedFile): void {
    analysed.uses -= 1;
    if (analysed.uses > 0) return;
    const files = this.#files.get(analysed.format);
    if (files?.get(analysed.hash) === analysed) files.delete(analysed.hash);
    textShelf.delete(analysed);
    this.dictionary.release(analysed.terms);
    analysed.drop();
  }

  /** Forgets every analysis, whoever holds it; the terms stay, so that the words of other texts are known. */
  shed(): void {
    for (const files of this.#files.values())
      for (const analysed of files.values()) {
        textShelf.delete(analysed);
        analysed.drop();
      }
    this.#files.clear();
  }

  #keep(analysed: AnalysedFile): AnalysedFile {
    const files = this.#files.get(analysed.format) ?? new Map<string, AnalysedFile>();
    this.#files.set(analysed.format, files);
    if (!files.has(analysed.hash)) files.set(analysed.hash, analysed);
    return analysed;
  }

  #analyse(name: Pick<AnalysedFile, 'format' | 'hash'>, content: string): AnalysedFile {
    const split = splitFile(name.format, content);
    const tokens: number[] = [];
    const addTerm = (word: string): void => {
      tokens.push(this.dictionary.retainWord(word));
    };
    const read = (part: string): void => scanWords(part, addTerm);
    const readable = name.format === 'json' ? withoutEscapes : (part: string): string => part;
    const rows = split.passages.map(({ text, start, end, lines, headings }): RowDraft => {
      const body = tokens.length;
      read(readable(text));
      const row = { start, end, lines, text, body, headings: tokens.length };
      for (const heading of headings) read(readable(heading));
      return row;
    });
    const marks = readLabels(split, tokens, read);
    const record = makeRecord({ content, rows, tokens, ...marks });
    const title = split.title === null ? null : ownCopy(split.title);
    return this.#keep(new AnalysedFile({ ...name, title }, record, this));
  }
}

function readLabels(split: SplitFile, tokens: readonly number[], read: (text: string) => void) {
  const titleFrom = tokens.length;
  read(split.title ?? '');
  const tagsFrom = tokens.length;
  split.tags.forEach(read);
  return { titleFrom, tagsFrom };
}
