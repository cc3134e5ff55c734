import { parse } from 'yaml';

/** A longer front matter is text like any other: the YAML parser recurses and is slow on hostile input. */
const MAX_PARSED_LENGTH = 8_192;

/** Title and tags repeat in every passage of their file, so their size is bounded. */
const MAX_LABELS = 128;
const MAX_LABEL_LENGTH = 200;

/** What a front matter or a JSON object says about its file. */
export interface Described {
  readonly title: string | null;
  readonly tags: readonly string[];
}

export const UNDESCRIBED: Described = { title: null, tags: [] };

function asLabels(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => (Array.isArray(item) ? [] : asLabels(item)));
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'string' && value.trim() !== '' ? [value.slice(0, MAX_LABEL_LENGTH)] : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Title, tags and triggers of a parsed object; a data island keeps them one level down in `island`. */
export function describe(value: unknown): Described {
  if (!isRecord(value)) return UNDESCRIBED;
  const island = isRecord(value['island']) ? value['island'] : {};
  const title = value['title'];
  return {
    title: typeof title === 'string' && title.trim() !== '' ? title.trim().slice(0, MAX_LABEL_LENGTH) : null,
    tags: [value['tags'], value['triggers'], island['tags'], island['triggers']].flatMap(asLabels).slice(0, MAX_LABELS),
  };
}

export interface FrontMatter {
  readonly described: Described;
  /** The YAML between the fences: text[start, end). */
  readonly start: number;
  readonly end: number;
  /** First unit after the closing fence line. */
  readonly next: number;
}

function fenceLineEnd(text: string, at: number): number | null {
  if (!text.startsWith('---', at)) return null;
  const newline = text.indexOf('\n', at);
  const end = newline < 0 ? text.length : newline;
  return text.slice(at + 3, Math.min(end, at + 80)).trim() === '' ? Math.min(end + 1, text.length) : null;
}

function parseQuietly(yaml: string): unknown {
  try {
    return parse(yaml, { logLevel: 'error', maxAliasCount: 0 });
  } catch {
    return null;
  }
}

/** The YAML front matter of a Markdown text, or null when it has none; a malformed one is null too. */
export function readFrontMatter(text: string): FrontMatter | null {
  const bom = text.startsWith('\ufeff') ? 1 : 0;
  const start = fenceLineEnd(text, bom);
  if (start === null || start === text.length) return null;
  for (let at = start; at >= 0 && at < text.length && at - start <= MAX_PARSED_LENGTH; ) {
    const next = fenceLineEnd(text, at);
    if (next !== null) {
      const value = parseQuietly(text.slice(start, at));
      return isRecord(value) ? { described: describe(value), start, end: at, next } : null;
    }
    const newline = text.indexOf('\n', at);
    at = newline < 0 ? -1 : newline + 1;
  }
  return null;
}
