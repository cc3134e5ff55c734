/** Functions that need no code of the caller. Pure, and linear but for their sorting. */
import { hash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { NO_JSON } from './outcome.ts';

interface ListedFunction {
  readonly name: string;
  readonly args: readonly string[];
  readonly description: string;
}

interface Listed extends ListedFunction {
  /** Throws a TypeError for what it does not take. */
  run(values: readonly unknown[]): unknown;
}

const NUMBERS = ['numbers'];
const VALUES = ['values'];

const LISTED: readonly Listed[] = [
  { name: 'sum', args: NUMBERS, description: 'The sum; 0 of none.', run: (values) => sum(numbersOf(values)) },
  { name: 'mean', args: NUMBERS, description: 'The arithmetic mean.', run: (values) => mean(someOf(values)) },
  { name: 'median', args: NUMBERS, description: 'The middle one, or the mean of the two.', run: median },
  { name: 'min', args: NUMBERS, description: 'The least.', run: (values) => extreme(values, (a, b) => a < b) },
  { name: 'max', args: NUMBERS, description: 'The greatest.', run: (values) => extreme(values, (a, b) => a > b) },
  { name: 'sort', args: VALUES, description: 'Numbers by size, texts by code unit, others by their JSON.', run: sort },
  { name: 'unique', args: VALUES, description: 'Each value once, where it came first.', run: unique },
  { name: 'sha256', args: ['value'], description: 'SHA-256 of a text, or of canonical JSON, in hex.', run: sha256 },
  {
    name: 'canonical',
    args: ['value'],
    description: 'JSON as RFC 8785 writes it.',
    run: (values) => canonical(values),
  },
  { name: 'diff', args: ['before', 'after'], description: 'What a list lost and gained, each value once.', run: diff },
];

export const LISTED_FUNCTIONS: readonly ListedFunction[] = LISTED.map(({ name, args, description }) => ({
  name,
  args,
  description,
}));

/** `args`: a list is positional, undefined is none, anything else is the one argument. */
export function positional(args: unknown): readonly unknown[] {
  if (args === undefined) return [];
  return Array.isArray(args) ? args : [args];
}

/** Null = no function of that name. */
export function runListed(
  name: string,
  args: unknown,
): Decision<unknown, 'E_COMPUTE_ERROR' | 'E_COMPUTE_OUTPUT'> | null {
  const listed = LISTED.find((one) => one.name === name);
  if (listed === undefined) return null;
  try {
    const value = listed.run(positional(args));
    return hasJsonForm(value) ? allow(value) : deny('E_COMPUTE_OUTPUT', { problem: NO_JSON });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return deny('E_COMPUTE_ERROR', { name: 'TypeError', message: error.message, line: null });
  }
}

/** JSON has no number that is none or beyond all others, and would say null. */
function hasJsonForm(value: unknown): boolean {
  let isWhole = true;
  JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === 'number' && !Number.isFinite(one)) isWhole = false;
    return one;
  });
  return isWhole;
}

/** One list, or what is given one after the other. */
function listOf(values: readonly unknown[]): readonly unknown[] {
  const [first] = values;
  return values.length === 1 && Array.isArray(first) ? first : values;
}

function numbersOf(values: readonly unknown[]): readonly number[] {
  const numbers = listOf(values);
  if (!numbers.every((one): one is number => typeof one === 'number')) throw new TypeError('takes numbers');
  return numbers;
}

function someOf(values: readonly unknown[]): readonly number[] {
  const numbers = numbersOf(values);
  if (numbers.length === 0) throw new TypeError('takes at least one number');
  return numbers;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function mean(numbers: readonly number[]): number {
  return sum(numbers) / numbers.length;
}

function median(values: readonly unknown[]): number {
  const sorted = someOf(values).toSorted((a, b) => a - b);
  return mean(sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1));
}

function extreme(values: readonly unknown[], isBetter: (a: number, b: number) => boolean): number {
  return someOf(values).reduce((best, one) => (isBetter(one, best) ? one : best));
}

function sort(values: readonly unknown[]): unknown[] {
  const list = listOf(values);
  if (list.every((one) => typeof one === 'number')) return list.toSorted((a, b) => a - b);
  const isText = list.every((one) => typeof one === 'string');
  const keyed = list.map((one) => ({ one, key: isText ? String(one) : canonicalJson(one) }));
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ one }) => one);
}

function unique(values: readonly unknown[]): unknown[] {
  return [...byJson(listOf(values)).values()];
}

/** The first of each value. */
function byJson(values: readonly unknown[]): Map<string, unknown> {
  const first = new Map<string, unknown>();
  for (const one of values) {
    const json = canonicalJson(one);
    if (!first.has(json)) first.set(json, one);
  }
  return first;
}

function canonical([value, ...more]: readonly unknown[]): string {
  if (value === undefined || more.length > 0) throw new TypeError('takes one value');
  return canonicalJson(value);
}

function sha256(values: readonly unknown[]): string {
  const [value] = values;
  const text = values.length === 1 && typeof value === 'string' ? value : canonical(values);
  return hash('sha256', text, 'hex');
}

function diff([before, after, ...more]: readonly unknown[]): { removed: unknown[]; added: unknown[]; same: number } {
  if (!Array.isArray(before) || !Array.isArray(after) || more.length > 0) throw new TypeError('takes two lists');
  const [old, fresh] = [byJson(before), byJson(after)];
  const without = (of: Map<string, unknown>, other: Map<string, unknown>): unknown[] =>
    [...of].filter(([json]) => !other.has(json)).map(([, value]) => value);
  const removed = without(old, fresh);
  return { removed, added: without(fresh, old), same: old.size - removed.length };
}
