/** JSON as text: read whole, and told apart by the places of its parts. Linear, and without recursion over what it holds. */

/** Undefined when it is not JSON. A byte order mark is no part of it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Places of the members of the object that opens at `opener`, in a text that `parseJson` has accepted; a repeated key
 * comes again. Numbers in one list: an object for each member would cost more than reading the text.
 */
export class JsonMembers {
  readonly text: string;
  readonly opener: number;
  /** Behind the closing bracket. */
  readonly end: number;
  readonly #places: number[] = [];

  constructor(text: string, opener: number) {
    this.text = text;
    this.opener = opener;
    let at = skipBlanks(text, opener + 1);
    while (text.charCodeAt(at) === QUOTE) {
      const keyEnd = stringEnd(text, at);
      const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
      const valueEnd = endOfValue(text, valueStart);
      this.#places.push(at, keyEnd, valueStart, valueEnd);
      at = skipBlanks(text, valueEnd);
      if (text.charCodeAt(at) !== COMMA) break;
      at = skipBlanks(text, at + 1);
    }
    this.end = at + 1;
  }

  get count(): number {
    return this.#places.length / 4;
  }

  keyStart(place: number): number {
    return this.#places[place * 4] ?? this.end;
  }

  keyEnd(place: number): number {
    return this.#places[place * 4 + 1] ?? this.end;
  }

  valueStart(place: number): number {
    return this.#places[place * 4 + 2] ?? this.end;
  }

  valueEnd(place: number): number {
    return this.#places[place * 4 + 3] ?? this.end;
  }

  name(place: number): string {
    return this.textAt(this.keyStart(place), this.keyEnd(place));
  }

  valueText(place: number): string {
    return this.text.slice(this.valueStart(place), this.valueEnd(place));
  }

  /** What the string between these places says. */
  textAt(start: number, end: number): string {
    const inner = this.text.slice(start + 1, end - 1);
    return inner.includes('\\') ? String(JSON.parse(this.text.slice(start, end))) : inner;
  }

  /** Of the members of that name the one that counts; null = none. */
  lastOf(name: string): number | null {
    for (let place = this.count - 1; place >= 0; place -= 1) if (this.name(place) === name) return place;
    return null;
  }
}

/** Of a list: where the item begins that follows the one which ends there, or its closing bracket. */
export function nextItem(text: string, end: number): number {
  const at = skipBlanks(text, end);
  return text.charCodeAt(at) === COMMA ? skipBlanks(text, at + 1) : at;
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

export function skipBlanks(text: string, from: number): number {
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
export function endOfValue(text: string, from: number): number {
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
