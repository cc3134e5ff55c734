/** Bounds of a request body, checked once after parsing so that nothing behind the door meets a hostile shape. */
import { CallError } from '@svc/contract/codes.ts';

export const MAX_DEPTH = 64;
export const MAX_KEYS = 1000;
export const MAX_ITEMS = 1000;

/**
 * Throws INVALID_REQUEST beyond the bounds, VAF_INPUT_INVALID for keys that name an object's prototype and for numbers
 * that no double can hold: passed on as JSON they would be null, which says that there is none.
 */
export function assertBounded(value: unknown): void {
  if (typeof value === 'object' && value !== null) scan(value, 1, []);
}

/** Parsing of more takes more than twice the time for twice the text; what is less deep is told from MAX_DEPTH on. */
const MAX_PARSED_DEPTH = 1000;

const tooDeep = (): CallError =>
  new CallError('INVALID_REQUEST', `The body is nested deeper than ${MAX_DEPTH} levels.`);

/** Of a body that may be no JSON. Throws INVALID_REQUEST. */
export function assertShallow(body: Buffer): void {
  if (body.length <= MAX_PARSED_DEPTH) return;
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) at = closingQuote(body, at);
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_PARSED_DEPTH) throw tooDeep();
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Of the string that opens at `opener`; the end of the body when there is none. */
function closingQuote(body: Buffer, opener: number): number {
  for (let at = body.indexOf(QUOTE, opener + 1); at !== -1; at = body.indexOf(QUOTE, at + 1)) {
    let backslashes = 0;
    while (body[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return body.length;
}

/** Recursion ends at MAX_DEPTH, whatever was sent. */
function scan(container: object, depth: number, path: string[]): void {
  if (depth > MAX_DEPTH) throw tooDeep();
  if (Array.isArray(container)) scanItems(container, depth, path);
  else scanFields(container as Record<string, unknown>, depth, path);
}

function scanItems(items: readonly unknown[], depth: number, path: string[]): void {
  if (items.length > MAX_ITEMS) {
    throw new CallError('INVALID_REQUEST', `A list in the body has more than ${MAX_ITEMS} items.`);
  }
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (isOverflown(item)) throw notAllowed([...path, String(index)], 'is too large for a number');
    if (typeof item !== 'object' || item === null) continue;
    path.push(String(index));
    scan(item, depth + 1, path);
    path.pop();
  }
}

function scanFields(fields: Record<string, unknown>, depth: number, path: string[]): void {
  const keys = Object.keys(fields);
  if (keys.length > MAX_KEYS) {
    throw new CallError('INVALID_REQUEST', `An object in the body has more than ${MAX_KEYS} keys.`);
  }
  for (const key of keys) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype')
      throw notAllowed([...path, key], 'is not allowed as a key');
    const field = fields[key];
    // The members of the request itself are judged by its form.
    if (depth > 1 && isOverflown(field)) throw notAllowed([...path, key], 'is too large for a number');
    if (typeof field !== 'object' || field === null) continue;
    path.push(key);
    scan(field, depth + 1, path);
    path.pop();
  }
}

/** JSON knows no infinity, but a number such as 1e400 is read as one. */
function isOverflown(value: unknown): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}

/** What is wrong with arguments is told as their tool tells it. */
function namedPath(path: readonly string[]): string {
  const inCall = path[0] === 'params' ? path.slice(1) : path;
  const isArgument = inCall.length > 1 && (inCall[0] === 'arguments' || inCall[0] === 'args');
  return (isArgument ? inCall.slice(1) : path).join('.');
}

function notAllowed(path: readonly string[], message: string): CallError {
  const problem = { path: namedPath(path).slice(0, 500), message };
  return new CallError('VAF_INPUT_INVALID', `${problem.path}: ${problem.message}`, { problems: [problem] });
}
