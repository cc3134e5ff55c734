/** JSON as text: read whole, and told apart by the places of its parts. Linear, and without recursion over what it holds. */

/** Undefined when it is not JSON. A byte order mark is no part of it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text) as unknown;
  } catch {
    return undefined;
  }
}

export interface JsonMember {
  readonly key: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** Members of the object that opens at `opener`, in a text that `parseJson` has accepted; a repeated key comes again. */
export function membersOf(text: string, opener: number): JsonMember[] {
  const members: JsonMember[] = [];
  for (let at = skipBlanks(text, opener + 1); text.charAt(at) === '"'; at = skipBlanks(text, at + 1)) {
    const keyEnd = stringEnd(text, at);
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ key: String(JSON.parse(text.slice(at, keyEnd))), keyStart: at, keyEnd, valueStart, valueEnd });
    at = skipBlanks(text, valueEnd);
    if (text.charAt(at) !== ',') break;
  }
  return members;
}

/** Places of the items of the list that opens at `opener`, in a text that `parseJson` has accepted: [start, end) of each. */
export function itemsOf(text: string, opener: number): [start: number, end: number][] {
  const places: [number, number][] = [];
  for (let at = skipBlanks(text, opener + 1); at < text.length && text.charAt(at) !== ']'; ) {
    const end = endOfValue(text, at);
    places.push([at, end]);
    at = skipBlanks(text, end);
    if (text.charAt(at) === ',') at = skipBlanks(text, at + 1);
  }
  return places;
}

/** Whether objects and lists are in one another more than `levels` deep, in a text that `parseJson` has accepted. */
export function isDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    const character = text.charAt(at);
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    if (depth > levels) return true;
    at = character === '"' ? stringEnd(text, at) : at + 1;
  }
  return false;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

/** Behind the closing quote of the string that opens at `from`. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
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
