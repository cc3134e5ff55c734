import { crc32 } from 'node:zlib';
import { AnalysisCache } from './analysis-cache.ts';
import type { AnalysedFile } from './analysis-cache.ts';
import { ANALYSER_VERSION } from './analysis.ts';
import { SearchIndex } from './search-index.ts';

/** Bytes: eight u32 (see HEADER), the directory as JSON, the contents as UTF-8, then u32 layouts and tokens. */
const HEADER = ['magic', 'format', 'analyser', 'checksum', 'directory', 'contents', 'numbers', 'reserved'] as const;
const HEADER_BYTES = HEADER.length * 4;
const MAGIC = 0x53564349;
const FORMAT = 1;

interface ContentEntry {
  readonly key: string;
  readonly title: string | null;
  readonly bytes: number;
  readonly rows: number;
  readonly layout: number;
  readonly tokens: number;
  readonly titleFrom: number;
  readonly tagsFrom: number;
}

interface Directory {
  readonly terms: readonly string[];
  readonly contents: readonly ContentEntry[];
  readonly files: readonly { file: string; hash: string; chain: number; content: number }[];
}

/** Section sizes are multiples of four, so that the numbers can be viewed in place. */
function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

/** Numbers of the dictionary's terms as the snapshot counts them, given in order of first use. */
class TermNumbers {
  readonly terms: string[] = [];
  readonly #numbers = new Map<number, number>();

  numberOf(id: number, term: (id: number) => string): number {
    let number = this.#numbers.get(id);
    if (number === undefined) {
      number = this.terms.length;
      this.#numbers.set(id, number);
      this.terms.push(term(id));
    }
    return number;
  }
}

function directoryOf(
  index: SearchIndex,
  analyses: readonly AnalysedFile[],
  texts: readonly Uint8Array[],
  terms: string[],
) {
  const numbers = new Map(analyses.map((analysed, number) => [analysed, number]));
  const contents = analyses.map((analysed, number): ContentEntry => {
    const { key, title, rows, layout, tokens, titleFrom, tagsFrom } = analysed;
    const bytes = texts[number]?.length ?? 0;
    return { key, title, bytes, rows, layout: layout.length, tokens: tokens.length, titleFrom, tagsFrom };
  });
  const files = [...index.files()].map(({ file, hash, chain, analysed }) => {
    return { file, hash, chain, content: numbers.get(analysed) ?? 0 };
  });
  return { terms, contents, files } satisfies Directory;
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(padded(parts.reduce((sum, part) => sum + part.length, 0)));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The index as bytes for `decodeSnapshot`: a cache of the files' analysis that may be deleted at any time. */
export function encodeSnapshot(index: SearchIndex): Uint8Array {
  const encoder = new TextEncoder();
  const analyses = [...new Set([...index.files()].map((entry) => entry.analysed))];
  const numbers = new TermNumbers();
  const termOf = (id: number): string => index.cache.dictionary.termOf(id);
  const texts = analyses.map(({ content }) => encoder.encode(content));
  const columns = analyses.flatMap(({ layout, tokens }) => [layout, tokens.map((id) => numbers.numberOf(id, termOf))]);
  const json = encoder.encode(JSON.stringify(directoryOf(index, analyses, texts, numbers.terms)));
  const blanks = encoder.encode('   ').subarray(0, padded(json.length) - json.length);
  const directory = concatenate([json, blanks]);
  const contents = concatenate(texts);
  const bytesOf = (column: Uint32Array) => new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
  const payload = concatenate([directory, contents, ...columns.map(bytesOf)]);
  const numberBytes = payload.length - directory.length - contents.length;
  const header = Uint32Array.of(
    MAGIC,
    FORMAT,
    ANALYSER_VERSION,
    crc32(payload),
    directory.length,
    contents.length,
    numberBytes,
    0,
  );
  return concatenate([bytesOf(header), payload]);
}

interface Sections {
  readonly directory: Directory;
  readonly contents: Uint8Array;
  readonly numbers: Uint32Array;
}

function readSections(bytes: Uint8Array, analyserVersion: number): Sections | null {
  if (bytes.length < HEADER_BYTES) return null;
  // A copy at offset 0: the caller's bytes may lie at any offset of their buffer, and the numbers need alignment.
  const whole = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  const header = new Uint32Array(whole.buffer, whole.byteOffset, HEADER.length);
  const [magic, format, analyser, checksum, directoryBytes = 0, contentBytes = 0, numberBytes = 0] = header;
  if (magic !== MAGIC || format !== FORMAT || analyser !== analyserVersion) return null;
  if (whole.length !== HEADER_BYTES + directoryBytes + contentBytes + numberBytes) return null;
  if (crc32(whole.subarray(HEADER_BYTES)) !== checksum) return null;
  const contentsAt = HEADER_BYTES + directoryBytes;
  const json = new TextDecoder().decode(whole.subarray(HEADER_BYTES, contentsAt));
  return {
    directory: JSON.parse(json) as Directory,
    contents: whole.subarray(contentsAt, contentsAt + contentBytes),
    numbers: new Uint32Array(whole.buffer, whole.byteOffset + contentsAt + contentBytes, numberBytes / 4),
  };
}

/** Restores each content into the cache, one hold each, its term numbers turned into the dictionary's ids. */
function restoreContents(
  { directory, contents, numbers }: Sections,
  cache: AnalysisCache,
  ids: Uint32Array,
): AnalysedFile[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let byte = 0;
  let at = 0;
  return directory.contents.map(({ bytes, layout, tokens, ...entry }) => {
    const content = decoder.decode(contents.subarray(byte, byte + bytes));
    const analysed = cache.restore({
      ...entry,
      content,
      layout: numbers.slice(at, at + layout),
      tokens: numbers.slice(at + layout, at + layout + tokens).map((number) => ids[number] ?? 0),
    });
    byte += bytes;
    at += layout + tokens;
    return analysed;
  });
}

/**
 * The index of a snapshot, in `cache`; null when it was written by another format or analyser version or is damaged.
 * It equals the index built from the same files, without their analysis.
 */
export function decodeSnapshot(
  bytes: Uint8Array,
  analyserVersion: number = ANALYSER_VERSION,
  cache: AnalysisCache = new AnalysisCache(),
): SearchIndex | null {
  const sections = readSections(bytes, analyserVersion);
  if (sections === null) return null;
  const { terms, files } = sections.directory;
  const ids = cache.dictionary.retainAll(terms);
  const analyses = restoreContents(sections, cache, ids);
  const index = new SearchIndex(cache);
  for (const { content, ...source } of files) {
    const analysed = analyses[content];
    if (analysed === undefined) continue;
    analysed.uses += 1;
    index.setAnalysed(source, analysed);
  }
  // The files hold their contents and the contents their terms; what restoring held can go.
  for (const analysed of analyses) cache.release(analysed);
  cache.dictionary.release(ids);
  return index;
}
