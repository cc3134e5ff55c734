/**
 * One line of an ignore file, matched as git matches it: byte by byte, so all text here is bytes written as latin1.
 * A match walks all ways through a pattern at once, so its cost is bounded by text times pattern, whatever they are.
 */

const ONE = 'one'; // any byte but a slash
const STAR = 'star'; // any bytes but slashes
const GLOBSTAR = 'globstar'; // any bytes
const SKIP = 'skip'; // nothing, past the globstar and the slash that follow

type Token = number | ReadonlySet<number> | typeof ONE | typeof STAR | typeof GLOBSTAR | typeof SKIP;

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const DASH = 0x2d;

/** True when the whole of a text fits. */
export type Matcher = (text: string) => boolean;

/** `spansDirectories`: the pattern is for a path, in which `**` has its meaning; else for a name. */
export function compilePattern(pattern: string, spansDirectories: boolean): Matcher {
  const tokens = tokensOf(pattern, spansDirectories);
  if (tokens === null) return () => false;
  let least = 0;
  for (const [at, token] of tokens.entries()) {
    const isOptional = tokens[at - 1] === GLOBSTAR && tokens[at - 2] === SKIP;
    if (token !== STAR && token !== GLOBSTAR && token !== SKIP && !isOptional) least += 1;
  }
  return (text) => text.length >= least && matches(tokens, text);
}

/** Null for what can never match: a bracket that is not closed, a backslash at the end. */
function tokensOf(pattern: string, spansDirectories: boolean): Token[] | null {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const symbol = pattern[at];
    if (symbol === '*') at = pushStar(tokens, pattern, at, spansDirectories);
    else if (symbol === '?') tokens.push(ONE);
    else if (symbol === '[') {
      const bracket = bracketAt(pattern, at);
      if (bracket === null) return null;
      tokens.push(bracket.bytes);
      at = bracket.end;
    } else {
      if (symbol === '\\') at += 1;
      if (at === pattern.length) return null;
      tokens.push(pattern.charCodeAt(at));
    }
  }
  return tokens;
}

/** Answers where the last of the stars stands. */
function pushStar(tokens: Token[], pattern: string, start: number, spansDirectories: boolean): number {
  let end = start;
  while (pattern[end + 1] === '*') end += 1;
  const rest = pattern.slice(end + 1, end + 3);
  const isAlone = start === 0 || pattern[start - 1] === '/';
  const isWhole = rest === '' || rest.startsWith('/') || rest === '\\/';
  if (end === start || !spansDirectories || !isAlone || !isWhole) {
    tokens.push(STAR);
    return end;
  }
  if (rest.startsWith('/')) tokens.push(SKIP);
  tokens.push(GLOBSTAR);
  return end;
}

interface Bracket {
  readonly bytes: ReadonlySet<number>;
  /** Where the closing bracket stands. */
  readonly end: number;
}

/** A set of bytes in brackets, read as git's wildmatch reads it; null when it does not end, or names no known class. */
function bracketAt(pattern: string, start: number): Bracket | null {
  const bytes = new Set<number>();
  let at = start + 1;
  const isNegated = pattern[at] === '!' || pattern[at] === '^';
  if (isNegated) at += 1;
  let previous = 0;
  do {
    const item = bracketItem(pattern, at, previous);
    if (item === null) return null;
    for (let byte = item.from; byte <= item.to; byte += 1) bytes.add(byte);
    for (const byte of item.named) bytes.add(byte);
    previous = item.last;
    at = item.end + 1;
  } while (pattern.charCodeAt(at) !== CLOSE);
  return { bytes: isNegated ? allBut(bytes) : bytes, end: at };
}

interface BracketItem {
  readonly from: number;
  readonly to: number;
  readonly named: readonly number[];
  /** From where a range may go on; 0 = none may. */
  readonly last: number;
  readonly end: number;
}

function bracketItem(pattern: string, at: number, previous: number): BracketItem | null {
  const byte = pattern.charCodeAt(at);
  if (Number.isNaN(byte)) return null;
  if (byte === BACKSLASH) {
    const escaped = pattern.charCodeAt(at + 1);
    return Number.isNaN(escaped) ? null : single(escaped, at + 1);
  }
  const next = pattern.charCodeAt(at + 1);
  if (byte === DASH && previous !== 0 && !Number.isNaN(next) && next !== CLOSE)
    return rangeTo(pattern, at + 1, previous);
  if (byte === OPEN && pattern[at + 1] === ':') return classAt(pattern, at);
  return single(byte, at);
}

function single(byte: number, end: number): BracketItem {
  return { from: byte, to: byte, named: [], last: byte, end };
}

function rangeTo(pattern: string, at: number, from: number): BracketItem | null {
  const end = pattern.charCodeAt(at) === BACKSLASH ? at + 1 : at;
  const to = pattern.charCodeAt(end);
  return Number.isNaN(to) ? null : { from, to, named: [], last: 0, end };
}

/** `[:name:]`; without its end the bracket is one like any other. */
function classAt(pattern: string, at: number): BracketItem | null {
  const end = pattern.indexOf(']', at + 2);
  if (end === -1) return null;
  if (end - 1 < at + 2 || pattern[end - 1] !== ':') return single(OPEN, at);
  const bytes = CLASSES.get(pattern.slice(at + 2, end - 1));
  return bytes === undefined ? null : { from: 1, to: 0, named: bytes, last: 0, end };
}

const ASCII = Array.from({ length: 0x80 }, (_, byte) => byte);
const bytesLike = (form: RegExp): readonly number[] => ASCII.filter((byte) => form.test(String.fromCharCode(byte)));

const CLASSES: ReadonlyMap<string, readonly number[]> = new Map([
  ['alnum', bytesLike(/[A-Za-z0-9]/)],
  ['alpha', bytesLike(/[A-Za-z]/)],
  ['blank', bytesLike(/[ \t]/)],
  ['cntrl', ASCII.filter((byte) => byte < 0x20 || byte === 0x7f)],
  ['digit', bytesLike(/[0-9]/)],
  ['graph', bytesLike(/[!-~]/)],
  ['lower', bytesLike(/[a-z]/)],
  ['print', bytesLike(/[ -~]/)],
  ['punct', bytesLike(/[!-/:-@[-`{-~]/)],
  ['space', bytesLike(/[ \t\n\r]/)],
  ['upper', bytesLike(/[A-Z]/)],
  ['xdigit', bytesLike(/[A-Fa-f0-9]/)],
]);

function allBut(bytes: ReadonlySet<number>): ReadonlySet<number> {
  return new Set(Array.from({ length: 0x100 }, (_, byte) => byte).filter((byte) => !bytes.has(byte)));
}

/** Places in a pattern that some way has come to. One set is kept for all matches, none of which waits for anything. */
class Places {
  #marks = new Uint32Array(64);
  #generation = 0;
  #found: number[] = [];

  /** Starts a new set; answers the places of the last one. */
  next(size: number): readonly number[] {
    if (this.#marks.length < size || this.#generation === 0xffff_ffff) {
      this.#marks = new Uint32Array(Math.max(size, this.#marks.length));
      this.#generation = 0;
    }
    this.#generation += 1;
    const before = this.#found;
    this.#found = [];
    return before;
  }

  has(place: number): boolean {
    return this.#marks[place] === this.#generation;
  }

  /** Adds a place and all that are reached from it without a byte. */
  enter(tokens: readonly Token[], start: number): void {
    const waiting = [start];
    for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
      if (this.has(place)) continue;
      this.#marks[place] = this.#generation;
      this.#found.push(place);
      const token = tokens[place];
      if (token === SKIP) waiting.push(place + 3);
      if (token === SKIP || token === STAR || token === GLOBSTAR) waiting.push(place + 1);
    }
  }
}

const places = new Places();

function matches(tokens: readonly Token[], text: string): boolean {
  places.next(tokens.length + 1);
  places.enter(tokens, 0);
  for (let at = 0; at < text.length; at += 1) {
    const byte = text.charCodeAt(at);
    const before = places.next(tokens.length + 1);
    if (before.length === 0) return false;
    for (const place of before) {
      const token = tokens[place];
      if (token === undefined) continue;
      if (token === GLOBSTAR || (token === STAR && byte !== SLASH)) places.enter(tokens, place);
      else if (fits(token, byte)) places.enter(tokens, place + 1);
    }
  }
  return places.has(tokens.length);
}

function fits(token: Token, byte: number): boolean {
  if (typeof token === 'number') return token === byte;
  return byte !== SLASH && (token === ONE || (typeof token === 'object' && token.has(byte)));
}
