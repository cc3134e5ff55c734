/** One member of an object inside a JSON text, changed with the rest kept byte for byte. */
import { isDeepStrictEqual } from 'node:util';

interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The value, or undefined when the text is no JSON object. */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    return objectOf(JSON.parse(withoutMark(text)));
  } catch {
    return undefined;
  }
}

export function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
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

/** Members of the object that opens at `opener`, in a text that JSON.parse has accepted. Linear, without recursion. */
function membersOf(text: string, opener: number): Member[] {
  const members: Member[] = [];
  for (let at = skipSpace(text, opener + 1); text.charAt(at) === '"'; at = skipSpace(text, at + 1)) {
    const keyEnd = stringEnd(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ key: String(JSON.parse(text.slice(at, keyEnd))), keyStart: at, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text.charAt(at) !== ',') break;
  }
  return members;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (' \t\r\n'.includes(text.charAt(at)) && at < text.length) at += 1;
  return at;
}

/** Behind the closing quote of the string that opens at `from`. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}

/** Behind the last character of the value that begins at `from`. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const character = text.charAt(at);
    if (depth === 0 && ',}] \t\r\n'.includes(character)) return at;
    if (character === '"') {
      at = stringEnd(text, at);
    } else {
      if (character === '{' || character === '[') depth += 1;
      if (character === '}' || character === ']') depth -= 1;
      at += 1;
    }
    if (depth === 0 && '"}]'.includes(text.charAt(at - 1))) return at;
  }
  return text.length;
}
