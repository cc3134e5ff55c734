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
    const unit = text.charCodeAt(at);
    depth += nesting(unit);
    if (depth > levels) return true;
    at = unit === QUOTE ? stringEnd(text, at) : at + 1;
  }
  return false;
}

// Units and not characters: the text may be as long as a file, and each call looks at all of it.
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

function nesting(unit: number): number {
  if (unit === OPEN_LIST || unit === OPEN_OBJECT) return 1;
  return unit === CLOSE_LIST || unit === CLOSE_OBJECT ? -1 : 0;
}

/** Blank, tab, and both line ends. */
function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** Behind the closing quote of the string that opens at `from`. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === BACKSLASH) at += 1;
  }
  return text.length;
}

/** Behind the last character of the value that begins at `from`. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const unit = text.charCodeAt(at);
    const change = nesting(unit);
    if (depth === 0 && (unit === COMMA || change === -1 || isBlank(unit))) return at;
    depth += change;
    at = unit === QUOTE ? stringEnd(text, at) : at + 1;
    if (depth === 0 && (unit === QUOTE || change === -1)) return at;
  }
  return text.length;
}
