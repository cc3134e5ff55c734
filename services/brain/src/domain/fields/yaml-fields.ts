/** Fields of a block mapping in YAML, cut by lines. */
import { type Document, isMap, isScalar, type Pair, stringify, visit, type YAMLMap } from 'yaml';
import type { YamlRead } from '../yaml-document.ts';
import { type Field, type FieldFormat, type FieldText, isFields } from './field-text.ts';

export const yamlFields: FieldFormat = {
  write: ({ head, fields, tail }) => head + fields.map(({ lead, key, value }) => lead + key + value).join('') + tail,
  replaced: (field, value) => ({ ...field, lead: '', value: `: ${JSON.stringify(value)}${lineEnd(field.value)}` }),
  serialise: (data) => stringify(data),
};

/** The fields of a text that was read; null when it holds none that could be told apart. */
export function cutYaml(text: string, { data, document }: YamlRead): FieldText | null {
  if (!isFields(data)) return null;
  const fields = isMap(document.contents) ? cutLines(text, document.contents) : [];
  // Written anew, an alias would show what it stands for, which may be hidden.
  if (fields === null && hasAlias(document)) return null;
  return { data, fields: fields ?? [], head: text.slice(0, text.length - lengthOf(fields ?? [])), tail: '' };
}

function hasAlias(document: Document): boolean {
  let isFound = false;
  visit(document, {
    Alias() {
      isFound = true;
      return visit.BREAK;
    },
  });
  return isFound;
}

/** Null when a field does not begin at the start of a line, so that lines cannot be cut out. */
function cutLines(text: string, { items, flow }: YAMLMap): Field[] | null {
  if (flow === true) return null;
  const starts: FieldStart[] = [];
  let valueEnd = 0;
  for (const pair of items) {
    const start = startOf(text, pair, valueEnd);
    if (start === null) return null;
    starts.push(start);
    valueEnd = endOf(pair) ?? start.keyEnd;
  }
  return starts.map(({ name, from, key, keyEnd }, index) => ({
    name,
    lead: text.slice(from, key),
    key: text.slice(key, keyEnd),
    value: text.slice(keyEnd, starts[index + 1]?.from ?? text.length),
  }));
}

interface FieldStart {
  readonly name: string;
  /** Start of the comment lines right above it. */
  readonly from: number;
  readonly key: number;
  readonly keyEnd: number;
}

function startOf(text: string, { key }: Pair, after: number): FieldStart | null {
  if (!isScalar<string | number | boolean | null>(key) || key.range == null) return null;
  const [start, keyEnd] = key.range;
  if (start > 0 && text.charAt(start - 1) !== '\n') return null;
  if (!/^[ \t]*:/.test(text.slice(keyEnd, keyEnd + 80))) return null;
  const name = key.value === null ? '' : String(key.value); // as the library calls it in the data
  return { name, from: commentStart(text, start, after), key: start, keyEnd };
}

function endOf({ value }: Pair): number | null {
  const range = (value as { readonly range?: readonly [number, number, number] | null } | null)?.range;
  return range?.[1] ?? null;
}

/** Where the unbroken lines of comment above `at` begin; never before `after`. */
function commentStart(text: string, at: number, after: number): number {
  let from = at;
  while (from > 0) {
    const line = text.lastIndexOf('\n', from - 2) + 1;
    if (line < after || text.charAt(line) !== '#') break;
    from = line;
  }
  return from;
}

function lengthOf(fields: readonly Field[]): number {
  return fields.reduce((sum, { lead, key, value }) => sum + lead.length + key.length + value.length, 0);
}

function lineEnd(value: string): string {
  return /\r?\n$/.exec(value)?.[0] ?? '';
}
