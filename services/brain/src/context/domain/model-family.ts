/** How models keep what they have read before, as their vendors document it; (ours). */

interface ModelFamily {
  readonly family: string;
  readonly supported: boolean;
  /** Places that a caller may mark; 0 = the model finds what it has seen before by itself. */
  readonly maxBreakpoints: number;
  /** A shorter beginning is not kept. */
  readonly minTokens: number;
  readonly ttlMs: number;
}

const FIVE_MINUTES = 300_000;
const UNKNOWN: ModelFamily = { family: 'unknown', supported: false, maxBreakpoints: 0, minTokens: 0, ttlMs: 0 };

const FAMILIES: readonly (readonly [RegExp, ModelFamily])[] = [
  [/\bclaude\b/i, { family: 'claude', supported: true, maxBreakpoints: 4, minTokens: 1024, ttlMs: FIVE_MINUTES }],
  [/\b(?:gpt|o\d)\b/i, { family: 'gpt', supported: true, maxBreakpoints: 0, minTokens: 1024, ttlMs: FIVE_MINUTES }],
  [/\bgemini\b/i, { family: 'gemini', supported: true, maxBreakpoints: 0, minTokens: 1024, ttlMs: FIVE_MINUTES }],
];

export function familyOf(model: string): ModelFamily {
  return FAMILIES.find(([name]) => name.test(model))?.[1] ?? UNKNOWN;
}
