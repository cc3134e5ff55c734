/** Three-way merge of Markdown: front matter by key, body by lines. */
import type { Document } from 'yaml';
import { findFrontMatter } from '../front-matter.ts';
import { readYamlDocument } from '../yaml-document.ts';
import { mergeLines, mergeOneSided, type TextMerge } from './lines.ts';
import { isMap, mergeValues, sameValue, type Value } from './values.ts';

interface Parts {
  /** From the opening line up to and with the closing one; empty when there is none. */
  readonly front: string;
  readonly body: string;
}

function splitFront(text: string): Parts {
  const body = findFrontMatter(text)?.body ?? 0;
  return { front: text.slice(0, body), body: text.slice(body) };
}

export function mergeMarkdown(base: string, ours: string, theirs: string): TextMerge {
  const [baseParts, ourParts, theirParts] = [splitFront(base), splitFront(ours), splitFront(theirs)];
  const fronts = [baseParts.front, ourParts.front, theirParts.front] as const;
  const front = mergeOneSided(...fronts) ?? mergeFront(...fronts);
  const body = mergeLines(baseParts.body, ourParts.body, theirParts.body);
  return { text: front.text + body.text, clashes: front.clashes || body.clashes };
}

/** Longer ones are merged by lines alone: several documents have to be read for the other way. */
const MAX_READ_LENGTH = 16_384;

/** As for JSON, a merge by lines is preferred when it says the same. */
function mergeFront(base: string, ours: string, theirs: string): TextMerge {
  if (Math.max(base.length, ours.length, theirs.length) > MAX_READ_LENGTH) {
    const byLines = mergeLines(base, ours, theirs);
    return byLines.clashes ? { text: ours, clashes: true } : byLines;
  }
  const ourFront = parseFront(ours);
  const theirFront = parseFront(theirs);
  // not a mapping on one side: a half-merged block would be no front matter at all
  if (ourFront === null || theirFront === null) return { text: ours, clashes: true };
  const { value, clashes } = mergeValues(parseFront(base)?.value ?? new Map(), ourFront.value, theirFront.value);
  if (!isMap(value) || sameValue(value, ourFront.value)) return { text: ours, clashes };
  const byLines = mergeLines(base, ours, theirs);
  if (!byLines.clashes && sameValue(parseFront(byLines.text)?.value, value)) return { text: byLines.text, clashes };
  return { text: editFront(ours, ourFront, theirFront, value), clashes };
}

interface Front {
  readonly document: Document;
  readonly value: ReadonlyMap<string, Value>;
}

function parseFront(front: string): Front | null {
  const found = findFrontMatter(front);
  if (found === null) return null;
  const yaml = front.slice(found.start, found.end);
  const document = readYamlDocument(yaml, { intAsBigInt: true, keepSourceTokens: true });
  if (document === null) return null;
  try {
    const value = toValue(document.toJS({ mapAsMap: true, maxAliasCount: 50 }) ?? new Map());
    return isMap(value) ? { document, value } : null;
  } catch {
    return null;
  }
}

function toValue(parsed: unknown): Value {
  if (Array.isArray(parsed)) return parsed.map(toValue);
  if (parsed instanceof Map) {
    return new Map([...parsed].map(([key, value]) => [textKey(key), toValue(value)]));
  }
  if (isScalar(parsed)) return parsed;
  throw new TypeError('not a plain value');
}

function textKey(key: unknown): string {
  if (typeof key !== 'string') throw new TypeError('a key that is no text');
  return key;
}

function isScalar(value: unknown): value is null | boolean | number | bigint | string {
  return value === null || ['boolean', 'number', 'bigint', 'string'].includes(typeof value);
}

/** Changes only the keys that differ from ours, so that our comments, order and style stay. */
function editFront(ours: string, ourFront: Front, theirFront: Front, merged: ReadonlyMap<string, Value>): string {
  const { document } = ourFront;
  for (const key of ourFront.value.keys()) if (!merged.has(key)) document.delete(key);
  for (const [key, value] of merged) {
    if (sameValue(value, ourFront.value.get(key))) continue;
    const theirs = sameValue(value, theirFront.value.get(key));
    document.set(key, theirs ? theirFront.document.get(key, true) : document.createNode(value));
  }
  const lineEnd = ours.includes('\r\n') ? '\r\n' : '\n';
  const yaml = document.toString({ lineWidth: 0 }).replaceAll(/\r?\n/g, lineEnd);
  const found = findFrontMatter(ours);
  return found === null ? ours : ours.slice(0, found.start) + yaml + ours.slice(found.end);
}
