/** One member of an object inside a JSON text, changed with the rest kept byte for byte. */
import { isDeepStrictEqual } from 'node:util';
import { JsonMembers, parseJson } from '../json-text.ts';

/** The value, or undefined when the text is no JSON object. */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  return objectOf(parseJson(text));
}

export function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** The text with `<parent>.<key>` set. Null when the text has no such parent. */
export function setJsonMember(text: string, parent: string, key: string, value: unknown): string | null {
  const before = parseJsonObject(text);
  const object = objectOf(before?.[parent]);
  if (before === undefined || object === undefined) return null;
  const outer = new JsonMembers(text, text.indexOf('{'));
  const place = outer.lastOf(parent);
  if (place === null) return null;
  const changed = spliceMember(text, outer.valueStart(place), key, value);
  const wanted = { ...before, [parent]: { ...object, [key]: value } };
  return isDeepStrictEqual(parseJsonObject(changed), wanted) ? changed : null;
}

function spliceMember(text: string, opener: number, key: string, value: unknown): string {
  const members = new JsonMembers(text, opener);
  const written = inlineJson(value);
  // a repeated key: the last one counts
  const present = members.lastOf(key);
  if (present !== null)
    return text.slice(0, members.valueStart(present)) + written + text.slice(members.valueEnd(present));
  const entry = `${JSON.stringify(key)}: ${written}`;
  if (members.count === 0) return text.slice(0, opener + 1) + entry + text.slice(opener + 1);
  const first = members.keyStart(0);
  const margin = text.slice(opener + 1, first);
  return `${text.slice(0, opener + 1)}${margin}${entry},${margin === '' ? ' ' : margin}${text.slice(first)}`;
}

function inlineJson(value: unknown): string {
  return Array.isArray(value) ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]` : JSON.stringify(value);
}
