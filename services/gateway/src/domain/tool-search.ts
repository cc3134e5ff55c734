/** Lexical search over what tools are called and say of themselves: no model, the same answer everywhere. */
import type { ToolCard } from '@svc/contract/tool.ts';
import { isObject } from './call-form.ts';
import { askedWords, meaningsOf, wordsOf } from './tool-words.ts';

interface ToolHit {
  readonly card: ToolCard;
  readonly score: number;
}

interface Indexed {
  readonly card: ToolCard;
  /** Weight of each word: where it stands decides. */
  readonly words: ReadonlyMap<string, number>;
}

const NAME_WEIGHT = 3;
const AREA_WEIGHT = 1.5;
const ARGUMENT_WEIGHT = 1;
const DESCRIPTION_WEIGHT = 2;
/** What is said of arguments, and the values that they may have. */
const ARGUMENT_TEXT_WEIGHT = 0.7;
/** A word that only begins like the asked one. */
const PREFIX_SHARE = 0.5;
const MIN_PREFIX = 3;
/** A word that means the same as the asked one. */
const MEANING_SHARE = 0.6;

interface ToolQuery {
  readonly limit: number;
  readonly area?: string | undefined;
  includes(card: ToolCard): boolean;
}

export interface ToolIndex {
  /** Best first, equal scores by name. */
  find(query: string, options: ToolQuery): ToolHit[];
  /** Sorted. */
  areas(includes: (card: ToolCard) => boolean): string[];
}

export function createToolIndex(cards: readonly ToolCard[]): ToolIndex {
  const entries = cards.map(indexed);
  const occurrences = new Map<string, number>();
  for (const { words } of entries) {
    for (const word of words.keys()) occurrences.set(word, (occurrences.get(word) ?? 0) + 1);
  }
  const rarity = (word: string): number => Math.log(1 + entries.length / (occurrences.get(word) ?? entries.length));
  const vocabulary = [...occurrences.keys()];
  return {
    find(query, { limit, area, includes }) {
      const asked = [...new Set(askedWords(query))].map((word) => wantedWords(word, vocabulary, rarity));
      const hits: ToolHit[] = [];
      for (const entry of entries) {
        if ((area !== undefined && entry.card.area !== area) || !includes(entry.card)) continue;
        const parts = asked.map((wanted) => scoreOf(entry, wanted));
        // A tool that has something of each asked word is rather meant than one that has much of a single one.
        const met = parts.filter((part) => part > 0).length / Math.max(1, parts.length);
        const score = parts.reduce((sum, part) => sum + part, 0) * Math.sqrt(met);
        if (score > 0) hits.push({ card: entry.card, score: Math.round(score * 1000) / 1000 });
      }
      hits.sort((a, b) => b.score - a.score || (a.card.name < b.card.name ? -1 : 1));
      return hits.slice(0, limit);
    },
    areas: (includes) => [...new Set(cards.filter(includes).map(({ area }) => area))].sort(),
  };
}

/** Words of the tools that stand for an asked one, each with what it counts. */
type Wanted = readonly (readonly [word: string, worth: number])[];

function wantedWords(asked: string, vocabulary: readonly string[], rarity: (word: string) => number): Wanted {
  const meant = new Set(meaningsOf(asked));
  return vocabulary.flatMap((word) => {
    const share = word === asked ? 1 : meant.has(word) ? MEANING_SHARE : beginAlike(word, asked) ? PREFIX_SHARE : 0;
    return share === 0 ? [] : [[word, share * rarity(word)] as const];
  });
}

function beginAlike(word: string, asked: string): boolean {
  if (Math.min(word.length, asked.length) < MIN_PREFIX) return false;
  return word.startsWith(asked) || asked.startsWith(word);
}

function scoreOf({ words }: Indexed, wanted: Wanted): number {
  return wanted.reduce((best, [word, worth]) => Math.max(best, (words.get(word) ?? 0) * worth), 0);
}

function indexed(card: ToolCard): Indexed {
  const words = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) words.set(word, Math.max(words.get(word) ?? 0, weight));
  };
  add(card.name, NAME_WEIGHT);
  add(card.area, AREA_WEIGHT);
  add(card.description, DESCRIPTION_WEIGHT);
  const { properties } = card.inputSchema;
  if (!isObject(properties)) return { card, words };
  add(Object.keys(properties).join(' '), ARGUMENT_WEIGHT);
  for (const property of Object.values(properties)) if (isObject(property)) add(saidOf(property), ARGUMENT_TEXT_WEIGHT);
  return { card, words };
}

function saidOf({ description, enum: values }: Record<string, unknown>): string {
  const said = typeof description === 'string' ? description : '';
  return Array.isArray(values) ? `${said} ${values.join(' ')}` : said;
}
