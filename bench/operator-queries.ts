/** Queries that ask the most of the operators: each of them names words that most passages have. */
import { commonWords } from './corpus.ts';

const MOST_OF_A_KIND = 8;

function eachOf(count: number, make: (number: number) => string): string {
  return Array.from({ length: count }, (_, number) => make(number)).join(' ');
}

const common = commonWords(MOST_OF_A_KIND * 2);
const wordOf = (number: number): string => common[number % common.length] ?? '';
const phraseOf = (number: number): string => `"${wordOf(number)} ${wordOf(number + 1)}"`;

/** By what they are made of. */
export const OPERATOR_QUERIES: ReadonlyMap<string, string> = new Map([
  ['8 prefixes', eachOf(MOST_OF_A_KIND, (number) => `${wordOf(number)}*`)],
  [
    '8 groups of alternatives',
    eachOf(MOST_OF_A_KIND, (number) => `${wordOf(number * 2)} OR ${wordOf(number * 2 + 1)}`),
  ],
  ['8 phrases', eachOf(MOST_OF_A_KIND, phraseOf)],
  ['8 excluded phrases', `${wordOf(0)} ${wordOf(1)} ${eachOf(MOST_OF_A_KIND, (number) => `-${phraseOf(number + 2)}`)}`],
  ['an excluded word', `${wordOf(0)} ${wordOf(1)} ${wordOf(2)} -${wordOf(9)}`],
  ['a folder', `${wordOf(0)} ${wordOf(1)} ${wordOf(2)} path:d1`],
  ['a time', `${wordOf(0)} ${wordOf(1)} ${wordOf(2)} since:2026`],
]);
