/** One member of an object inside a JSON text, changed with the rest kept byte for byte. */
import { isDeepStrictEqual } from 'node:util';
import { membersOf, parseJson } from '../json-text.ts';

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
  const outer = membersOf(text, text.indexOf('{')).findLast((member) => member.key === parent);
  if (outer === undefined) return null;
  const changed = spliceMember(text, outer.valueStart, key, value);
  const wanted = { ...before, [parent]: { ...object, [key]: value } };
  return isDeepStrictEqual(parseJsonObject(changed), wanted) ? changed : null;
}

function spliceMember(text: string, opener: number, key: string, value: unknown): string {
  const members = membersOf(text, opener);
  const written = inlineJson(value);
  // a repeated key: the last one counts
  const present = members.findLast((member) => member.key === key);
  if (present !== undefined) return text.slice(0, present.valueStart) + written + text.slice(present.valueEnd);
  const entry = `${JSON.stringify(key)}: ${written}`;
  const [first] = members;
  if (first === undefined) return text.slice(0, opener + 1) + entry + text.slice(opener + 1);
  const margin = text.slice(opener + 1, first.keyStart);
  return `${text.slice(0, opener + 1)}${margin}${entry},${margin === '' ? ' ' : margin}${text.slice(first.keyStart)}`;
}

function inlineJson(value: unknown): string {
  return Array.isArray(value) ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]` : JSON.stringify(value);
}
