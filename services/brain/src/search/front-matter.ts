import { findFrontMatter } from '../domain/front-matter.ts';
import { readYaml } from '../domain/yaml-document.ts';

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

/** The YAML front matter of a Markdown text, or null when it has none; a malformed one is null too. */
export function readFrontMatter(text: string): FrontMatter | null {
  const found = findFrontMatter(text);
  if (found === null) return null;
  const { start, end, body: next } = found;
  const data = readYaml(text.slice(start, end))?.data;
  return isRecord(data) ? { described: describe(data), start, end, next } : null;
}
