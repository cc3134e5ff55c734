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

/** Recursion ends at MAX_DEPTH, whatever was sent. */
function scan(container: object, depth: number, path: string[]): void {
  if (depth > MAX_DEPTH) throw new CallError('INVALID_REQUEST', `The body is nested deeper than ${MAX_DEPTH} levels.`);
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

function notAllowed(path: readonly string[], message: string): CallError {
  const problem = { path: path.join('.').slice(0, 500), message };
  return new CallError('VAF_INPUT_INVALID', `${problem.path}: ${problem.message}`, { problems: [problem] });
}
