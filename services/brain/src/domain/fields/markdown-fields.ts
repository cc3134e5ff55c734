/** Fields of the front matter of a Markdown text. */
import { isDeepStrictEqual } from 'node:util';
import { findFrontMatter, opensFrontMatter } from '../front-matter.ts';
import { readYaml } from '../yaml-document.ts';
import { type Fields, type FieldText, type Hide, mergedFields, shownFields, withoutMasked } from './field-text.ts';
import { cutYaml, yamlFields } from './yaml-fields.ts';

interface MarkdownText {
  readonly text: string;
  /** Null when it has none. */
  readonly front: FrontText | null;
}

interface FrontText {
  readonly head: string;
  readonly tail: string;
  /** What it says; undefined when it cannot be read. */
  readonly data: unknown;
  /** Null when it holds no fields that could be told apart. */
  readonly fields: FieldText | null;
}

export function readMarkdown(text: string): MarkdownText {
  const found = findFrontMatter(text);
  if (found === null) return { text, front: null };
  const yaml = text.slice(found.start, found.end);
  const read = readYaml(yaml);
  const fields = read === null ? null : cutYaml(yaml, read);
  return { text, front: { head: text.slice(0, found.start), tail: text.slice(found.end), data: read?.data, fields } };
}

/** Null when hidden fields cannot be told apart in it. */
export function shownMarkdown({ text, front }: MarkdownText, hide: Hide): string | null {
  // One that never ends may be somebody's half-written one, with the fields of a whole one.
  if (front === null) return opensFrontMatter(text) ? null : text;
  const { fields, data } = front;
  if (fields !== null) return withFront(front, shownFields(yamlFields, fields, hide(fields.data) as Fields));
  if (data === undefined) return null;
  // Fields of a list have no lines of their own that could be cut out.
  return isDeepStrictEqual(hide(data), data) ? text : null;
}

/** `shown`: what `shownMarkdown` made. */
export function indexedMarkdown(shown: string): string | null {
  const { front } = readMarkdown(shown);
  if (front === null || front.fields === null) return shown;
  return withFront(front, withoutMasked(yamlFields, front.fields));
}

/** `incoming` with what is hidden of `present`, as both are shown; null when it cannot hold that. */
export function mergedMarkdown(
  { front: before }: MarkdownText,
  { text: incoming, front: after }: MarkdownText,
  hide: Hide,
): string | null {
  if (before === null || before.fields === null) return incoming;
  const shown = hide(before.fields.data) as Fields;
  if (after === null) {
    const kept = mergedFields(yamlFields, before.fields, shown, { data: {}, fields: [], head: '', tail: '' });
    return kept === '' ? incoming : `${before.head}${kept}---\n${incoming}`;
  }
  return after.fields === null ? null : withFront(after, mergedFields(yamlFields, before.fields, shown, after.fields));
}

function withFront({ head, tail }: FrontText, yaml: string | null): string | null {
  return yaml === null ? null : head + yaml + tail;
}
