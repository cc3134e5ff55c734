/** Fields of a JSON text by their places in it. */
import { type Field, type FieldFormat, type Fields, type FieldText, isFields } from './field-text.ts';

export const jsonFields: FieldFormat = {
  parse(text) {
    const data = parseJson(text);
    return isFields(data) ? cutObject(text, data) : null;
  },
  write({ head, fields, tail }) {
    const members = fields.map(({ lead, key, value }, index) => separated(lead, index === 0) + key + value);
    return head + members.join('') + tail;
  },
  replaced: (field, value) => ({ ...field, value: JSON.stringify(value) }),
  serialise: (data) => `${JSON.stringify(data, null, 2)}\n`,
};

/** Undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Places of the items of an array that JSON.parse has accepted: [start, end) of each. */
export function itemPlaces(text: string): [start: number, end: number][] {
  const places: [number, number][] = [];
  for (let at = skipBlanks(text, text.indexOf('[') + 1); at < text.length && text.charAt(at) !== ']'; ) {
    const end = valueEnd(text, at);
    places.push([at, end]);
    at = skipBlanks(text, end);
    if (text.charAt(at) === ',') at = skipBlanks(text, at + 1);
  }
  return places;
}

function cutObject(text: string, data: Fields): FieldText {
  const open = text.indexOf('{') + 1;
  const fields: Field[] = [];
  let from = open;
  for (let at = skipBlanks(text, open); text.charAt(at) === '"'; ) {
    const keyEnd = stringEnd(text, at);
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const end = valueEnd(text, valueStart);
    const name = JSON.parse(text.slice(at, keyEnd)) as string;
    fields.push({
      name,
      lead: text.slice(from, at),
      key: text.slice(at, valueStart),
      value: text.slice(valueStart, end),
    });
    from = end;
    at = skipBlanks(text, end);
    if (text.charAt(at) === ',') at = skipBlanks(text, at + 1);
  }
  return { data, fields, head: text.slice(0, open), tail: text.slice(from) };
}

/** The first member has no comma before it, every other has one. */
function separated(lead: string, isFirst: boolean): string {
  if (isFirst) return lead.replace(',', '');
  return lead.includes(',') ? lead : `,${lead}`;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

/** Index behind the string that opens at `at`. */
function stringEnd(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && text.charAt(end) !== '"') end += text.charAt(end) === '\\' ? 2 : 1;
  return end + 1;
}

/** Index behind the value that starts at `from`. */
function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = stringEnd(text, at) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (depth === 0 && ',]} \t\r\n'.includes(character)) return at;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0 && '"}]'.includes(text.charAt(at))) return at + 1;
  }
  return text.length;
}
