import type { Span } from './sentences.ts';
import { skipSpace, trimEnd } from './sentences.ts';

/** Keys repeat in every passage of their value, so they are cut here; the whole key is in the text. */
const MAX_KEY_LENGTH = 200;

/** A top-level member or item of a JSON or YAML text; `key` is null for items of a list. */
export interface Block {
  readonly key: string | null;
  readonly span: Span;
}

/** Index of the closing quote of a JSON string that opens at `index`. */
function stringEnd(text: string, index: number): number {
  let at = index + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at;
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|[^])/g;

/** Text of JSON as it is read: `\n` is a break and no letter of the word behind it, `\u00e9` is é. */
export function withoutEscapes(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPE, (_escape, code?: string) =>
    code === undefined ? ' ' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const OPENERS = '{[';
const CLOSERS = '}]';

function isJsonSpace(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}

/** Index behind the value, member or item that starts at `start`: its `,` or closer at depth 0, else the text's end. */
function blockEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = stringEnd(text, at);
    else if (OPENERS.includes(character)) depth += 1;
    else if (depth === 0 && (character === ',' || CLOSERS.includes(character))) return at;
    else if (CLOSERS.includes(character)) depth -= 1;
  }
  return text.length;
}

/** Members or items of a text that JSON.parse has accepted; empty for a scalar. Linear, without recursion. */
export function jsonBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const opener = skipSpace(text, 0, text.length);
  const isObject = text.charAt(opener) === '{';
  if (!isObject && text.charAt(opener) !== '[') return blocks;
  for (let at = opener + 1; at < text.length; at += 1) {
    if (isJsonSpace(text.charAt(at))) continue;
    const end = blockEnd(text, at);
    const key = isObject ? text.slice(at + 1, Math.min(stringEnd(text, at), at + 1 + MAX_KEY_LENGTH)) : null;
    if (end > at) blocks.push({ key, span: [at, trimEnd(text, at, end)] });
    if (text.charAt(end) !== ',') break;
    at = end;
  }
  return blocks;
}

/** The key of a line `key:` or `"key": …` at column 0; null for a list item, undefined for any other line. */
function yamlLineKey(line: string): string | null | undefined {
  if (line.startsWith('- ') || line === '-') return null;
  if (line === '' || ' \t#-.%&*!|>@`{}[],?'.includes(line.charAt(0))) return undefined;
  const colon = line.indexOf(': ');
  const end = colon >= 0 ? colon : line.endsWith(':') ? line.length - 1 : -1;
  return end > 0 ? line.slice(0, Math.min(end, MAX_KEY_LENGTH)).replaceAll(/["']/g, '') : undefined;
}

/**
 * Top-level keys or items of text[from, to) by the lines that start at column 0; empty when no line does.
 * Any text partitions, so malformed YAML cannot fail here.
 */
export function yamlBlocks(text: string, from: number, to: number): Block[] {
  const blocks: Block[] = [];
  let start = from;
  let key: string | null | undefined;
  for (let line = from; line < to; ) {
    const newline = text.indexOf('\n', line);
    const next = newline < 0 || newline >= to ? to : newline + 1;
    const found = yamlLineKey(text.slice(line, trimEnd(text, line, next)));
    if (found !== undefined) {
      if (key !== undefined) blocks.push({ key, span: [start, trimEnd(text, start, line)] });
      // Comments above the first key belong to it.
      if (key !== undefined) start = line;
      key = found;
    }
    line = next;
  }
  if (key !== undefined) blocks.push({ key, span: [start, trimEnd(text, start, to)] });
  return blocks;
}
