/** A property of ledgers that is tried. */
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import type { Story, Turn } from './owner.ts';

export interface Law {
  readonly name: string;
  /** Throws when it does not hold. */
  check(options: { readonly numRuns: number; readonly seed: number; readonly endOnFailure?: boolean }): void;
}

export function law<Values extends [unknown, ...unknown[]]>(
  name: string,
  arbitraries: { [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  holds: (...values: Values) => void,
): Law {
  return { name, check: (options) => fc.assert(fc.property(...arbitraries, holds), options) };
}

export function same(one: unknown, other: unknown, what: string): void {
  if (isDeepStrictEqual(one, other)) return;
  throw new Error(`${what}: ${JSON.stringify(one)} is not ${JSON.stringify(other)}`);
}

export const lastOf = ({ turns }: Story): Turn => {
  const last = turns.at(-1);
  if (last === undefined) throw new Error('a story begins');
  return last;
};

export const countedIn = ({ entries, voided }: Pick<Turn, 'entries' | 'voided'>) =>
  entries
    .map(({ entry: { ballot, weight } }) => ({ voter: ballot.voter, outcome: ballot.outcome, weight }))
    .filter(({ voter }) => !voided.includes(voter));
