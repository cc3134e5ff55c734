/** The rules of one ignore file, as git reads them: the last one that fits a path decides. */
import { compilePattern, type Matcher } from './ignore-pattern.ts';

interface Rule {
  readonly isNegated: boolean;
  readonly ofDirectories: boolean;
}

interface WildRule extends Rule {
  readonly index: number;
  /** Fits the path below the file's directory, not the name alone. */
  readonly isPath: boolean;
  readonly fits: Matcher;
}

/** Rules without wildcards, by what they name: places in the list, in order. */
type RulesByText = Map<string, number[]>;

/** More rules in one file are a burden on every look at every file. */
const MAX_RULES = 10_000;
const WILD = /[*?[\\]/;

export class IgnoreList {
  readonly #rules: Rule[] = [];
  readonly #names: RulesByText = new Map();
  readonly #paths: RulesByText = new Map();
  /** Of `*<end>`, which most rules are. */
  readonly #ends: RulesByText = new Map();
  readonly #endLengths = new Set<number>();
  readonly #wild: WildRule[] = [];

  /** Null when there are more rules than are read. */
  static parse(content: Uint8Array): IgnoreList | null {
    const list = new IgnoreList();
    for (const line of linesOf(content)) {
      list.#add(line);
      if (list.#rules.length > MAX_RULES) return null;
    }
    return list;
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0;
  }

  /** `path`: below the file's directory, as bytes. Whether it is ignored; null = nothing is said about it. */
  decide(path: string, isDirectory: boolean): boolean | null {
    const name = path.slice(path.lastIndexOf('/') + 1);
    let last = this.#lastOf(this.#names.get(name), isDirectory);
    last = Math.max(last, this.#lastOf(this.#paths.get(path), isDirectory));
    for (const length of this.#endLengths) {
      if (length > name.length) continue;
      last = Math.max(last, this.#lastOf(this.#ends.get(name.slice(name.length - length)), isDirectory));
    }
    for (let at = this.#wild.length - 1; at >= 0; at -= 1) {
      const rule = this.#wild[at];
      if (rule === undefined || rule.index < last) break;
      if ((isDirectory || !rule.ofDirectories) && rule.fits(rule.isPath ? path : name)) {
        last = rule.index;
        break;
      }
    }
    const decisive = this.#rules[last];
    return decisive === undefined ? null : !decisive.isNegated;
  }

  #lastOf(indices: readonly number[] | undefined, isDirectory: boolean): number {
    if (indices === undefined) return -1;
    if (isDirectory) return indices.at(-1) ?? -1;
    return indices.findLast((index) => this.#rules[index]?.ofDirectories === false) ?? -1;
  }

  #add(line: string): void {
    const isNegated = line.startsWith('!');
    const whole = isNegated ? line.slice(1) : line;
    const ofDirectories = whole.endsWith('/');
    const text = ofDirectories ? whole.slice(0, -1) : whole;
    const index = this.#rules.push({ isNegated, ofDirectories }) - 1;
    if (text.includes('/')) this.#addPath(index, text.startsWith('/') ? text.slice(1) : text);
    else this.#addName(index, text);
  }

  #addName(index: number, text: string): void {
    if (!WILD.test(text)) note(this.#names, text, index);
    else if (text.startsWith('*') && !WILD.test(text.slice(1))) {
      note(this.#ends, text.slice(1), index);
      this.#endLengths.add(text.length - 1);
    } else this.#addWild(index, false, compilePattern(text, false));
  }

  #addPath(index: number, text: string): void {
    const plain = text.search(WILD);
    if (plain === -1) note(this.#paths, text, index);
    else {
      // The part without wildcards is compared by itself: stars behind it stand as at the start of a pattern.
      const start = text.slice(0, plain);
      const fits = compilePattern(text.slice(plain), true);
      this.#addWild(index, true, (path) => path.startsWith(start) && fits(path.slice(plain)));
    }
  }

  #addWild(index: number, isPath: boolean, fits: Matcher): void {
    const rule = this.#rules[index];
    if (rule !== undefined) this.#wild.push({ ...rule, index, isPath, fits });
  }
}

function note(rules: RulesByText, text: string, index: number): void {
  const known = rules.get(text);
  if (known === undefined) rules.set(text, [index]);
  else known.push(index);
}

/** The lines that are rules, as bytes. */
function* linesOf(content: Uint8Array): Generator<string> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
  const text = bytes.startsWith('\u00ef\u00bb\u00bf') ? bytes.slice(3) : bytes;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(start, text[end - 1] === '\r' && end > start ? end - 1 : end);
    start = end + 1;
    if (line !== '' && !line.startsWith('#')) yield withoutBlanks(upToNul(line));
  }
}

/** To git a text ends at a NUL. */
function upToNul(line: string): string {
  const end = line.indexOf('\0');
  return end === -1 ? line : line.slice(0, end);
}

/** Spaces at the end count only behind a backslash. */
function withoutBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === ' ') end -= 1;
  let backslashes = 0;
  while (line[end - 1 - backslashes] === '\\') backslashes += 1;
  return line.slice(0, end + (end < line.length ? backslashes % 2 : 0));
}
