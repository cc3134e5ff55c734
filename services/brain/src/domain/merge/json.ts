/** Three-way merge of JSON text by key. */
import { mergeLines, type TextMerge } from './lines.ts';
import { ExactNumber, mergeValues, sameValue, type Value } from './values.ts';

/** Deeper documents are merged as text. */
const MAX_DEPTH = 200;

/** Beyond the standard's types in this compiler, part of the language (JSON source text access). */
const { rawJSON } = JSON as unknown as { rawJSON(source: string): unknown };

/** The value, or undefined when the text is not JSON (or nested too deep). */
export function parseJson(text: string): Value | undefined {
  try {
    const source = text.startsWith('\uFEFF') ? text.slice(1) : text;
    return toValue(JSON.parse(source, keepNumberSource), 0);
  } catch {
    return undefined;
  }
}

function keepNumberSource(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return JSON.stringify(value) === context.source ? value : new ExactNumber(context.source);
}

function toValue(parsed: unknown, depth: number): Value {
  if (depth > MAX_DEPTH) throw new RangeError('nested too deep');
  if (Array.isArray(parsed)) return parsed.map((element) => toValue(element, depth + 1));
  if (typeof parsed !== 'object' || parsed === null || parsed instanceof ExactNumber) return parsed as Value;
  return new Map(Object.entries(parsed).map(([key, value]) => [key, toValue(value, depth + 1)]));
}

/**
 * Null when ours or theirs is not JSON. A merge by lines is preferred when it says the same, because it keeps the
 * formatting; else the result is written with our indentation and line ends.
 */
export function mergeJson(base: string, ours: string, theirs: string): TextMerge | null {
  const ourValue = parseJson(ours);
  const theirValue = parseJson(theirs);
  if (ourValue === undefined || theirValue === undefined) return null;
  const { value, clashes } = mergeValues(parseJson(base), ourValue, theirValue);
  if (value === undefined || sameValue(value, ourValue)) return { text: ours, clashes };
  const byLines = mergeLines(base, ours, theirs);
  if (!byLines.clashes && sameValue(parseJson(byLines.text), value)) return { text: byLines.text, clashes };
  return { text: formatLike(ours, value), clashes };
}

function formatLike(model: string, value: Value): string {
  const indent = /^[^\n]*\n([ \t]+)\S/.exec(model)?.[1] ?? (model.trim().includes('\n') ? '  ' : '');
  const text = JSON.stringify(toPlain(value), null, indent);
  const lineEnd = model.includes('\r\n') ? '\r\n' : '\n';
  const mark = model.startsWith('\uFEFF') ? '\uFEFF' : '';
  return mark + text.replaceAll('\n', lineEnd) + model.slice(model.trimEnd().length);
}

function toPlain(value: Value): unknown {
  if (value instanceof ExactNumber) return rawJSON(value.source);
  if (value instanceof Map) {
    // null-prototype and defineProperty would both lose to a key named __proto__; fromEntries does not
    return Object.fromEntries([...value].map(([key, element]) => [key, toPlain(element)]));
  }
  return Array.isArray(value) ? value.map(toPlain) : value;
}
