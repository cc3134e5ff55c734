/** Other ways to ask the same. */
import { analyseQuery } from '../../search/analysis.ts';

/** With the query itself. */
export const MOST_VARIANTS = 4;
export const VARIANT_SOURCES = ['query', 'part', 'feedback', 'model'] as const;
/** A part of fewer words says too little by itself. */
const PART_WORDS = 2;

export interface Variant {
  readonly query: string;
  /** `part` = between and, or and commas; `feedback` = with words of what was found; `model` = written by one. */
  readonly source: (typeof VARIANT_SOURCES)[number];
}

/**
 * The query first; no two that find the same. `feedback` = words of the first finds, heaviest first; `written` = what a
 * model has to say, which then stands in the place of all others.
 */
export function variantsOf(query: string, feedback: readonly string[], written: readonly string[] | null): Variant[] {
  const own = { query, source: 'query' } as const;
  if (written === null) return variantsByRule(query, feedback);
  const lines = written.filter((line) => analyseQuery(line).length > 0);
  return distinct([own, ...lines.map((line) => ({ query: line, source: 'model' as const }))]).slice(0, MOST_VARIANTS);
}

function variantsByRule(query: string, feedback: readonly string[]): Variant[] {
  const own = analyseQuery(query).map(({ word }) => word);
  const parts = partsOf(query);
  const wished: Variant[] = [
    { query, source: 'query' },
    ...(parts.length > 1 ? parts.map((part) => ({ query: part, source: 'part' as const })) : []),
  ];
  const expanded: Variant[] =
    feedback.length === 0 ? [] : [{ query: [...own, ...feedback].join(' '), source: 'feedback' }];
  return [...distinct(wished).slice(0, MOST_VARIANTS - expanded.length), ...expanded];
}

/** The first that finds what it finds. */
function distinct(variants: readonly Variant[]): Variant[] {
  const byTerms = new Map<string, Variant>();
  for (const variant of variants) {
    const terms = analyseQuery(variant.query).map(({ term }) => term);
    if (!byTerms.has(terms.join(' '))) byTerms.set(terms.join(' '), variant);
  }
  return [...byTerms.values()];
}

/** What stands between commas, semicolons, `and` and `or`. */
function partsOf(query: string): string[] {
  return query
    .split(/[,;]|\b(?:and|or)\b/i)
    .map((part) => part.trim())
    .filter((part) => analyseQuery(part).length >= PART_WORDS);
}
