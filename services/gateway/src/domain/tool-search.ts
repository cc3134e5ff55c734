/** Lexical search over tool names and descriptions: no model, the same answer everywhere. */
import type { ToolCard } from '@svc/contract/tool.ts';

interface ToolHit {
  readonly card: ToolCard;
  readonly score: number;
}

interface Indexed {
  readonly card: ToolCard;
  /** Weight of each word: where it stands decides. */
  readonly words: ReadonlyMap<string, number>;
}

const NAME_WEIGHT = 4;
const AREA_WEIGHT = 2;
const ARGUMENT_WEIGHT = 1;
const DESCRIPTION_WEIGHT = 1.5;
/** A word that only begins like the asked one. */
const PREFIX_SHARE = 0.5;
const MIN_PREFIX = 3;

interface ToolQuery {
  readonly limit: number;
  readonly area?: string | undefined;
  includes(card: ToolCard): boolean;
}

export interface ToolIndex {
  /** Best first, equal scores by name. */
  find(query: string, options: ToolQuery): ToolHit[];
}

export function createToolIndex(cards: readonly ToolCard[]): ToolIndex {
  const entries = cards.map(indexed);
  const occurrences = new Map<string, number>();
  for (const { words } of entries) {
    for (const word of words.keys()) occurrences.set(word, (occurrences.get(word) ?? 0) + 1);
  }
  const rarity = (word: string): number => Math.log(1 + entries.length / (occurrences.get(word) ?? entries.length));
  return {
    find(query, { limit, area, includes }) {
      const asked = [...new Set(wordsOf(query))];
      const hits: ToolHit[] = [];
      for (const entry of entries) {
        if ((area !== undefined && entry.card.area !== area) || !includes(entry.card)) continue;
        const score = asked.reduce((sum, word) => sum + scoreOf(entry, word, rarity), 0);
        if (score > 0) hits.push({ card: entry.card, score: Math.round(score * 1000) / 1000 });
      }
      hits.sort((a, b) => b.score - a.score || (a.card.name < b.card.name ? -1 : 1));
      return hits.slice(0, limit);
    },
  };
}

function scoreOf({ words }: Indexed, asked: string, rarity: (word: string) => number): number {
  const whole = words.get(asked);
  if (whole !== undefined) return whole * rarity(asked);
  let best = 0;
  for (const [word, weight] of words) {
    const shared = asked.length >= MIN_PREFIX && (word.startsWith(asked) || asked.startsWith(word));
    if (shared && word.length >= MIN_PREFIX) best = Math.max(best, weight * PREFIX_SHARE * rarity(word));
  }
  return best;
}

function indexed(card: ToolCard): Indexed {
  const words = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) words.set(word, Math.max(words.get(word) ?? 0, weight));
  };
  add(card.name, NAME_WEIGHT);
  add(card.area, AREA_WEIGHT);
  add(card.description, DESCRIPTION_WEIGHT);
  add(Object.keys(card.inputSchema.properties ?? {}).join(' '), ARGUMENT_WEIGHT);
  return { card, words };
}

/** Lower-case words without plural and verb endings; names fall apart at underscores and capitals. */
function wordsOf(text: string): string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.length > 4 ? word.replace(/(ing|es|ed|s)$/, '') : word,
  );
}
