/** What a brain's people and agents pay attention to. It fades, and what nobody cares for any more is forgotten. */
import { faded } from './fading.ts';

export const ATTENTION = { names: 1000, halfLifeMs: 24 * 3_600_000, step: 0.2, forgottenBelow: 0.01 } as const;

/** `score` as it was `at`, in ms since the epoch. */
export interface Attended {
  readonly name: string;
  readonly score: number;
  readonly at: number;
}

export function attentionNow({ score, at }: Attended, now: number): number {
  return faded(score, now - at, ATTENTION.halfLifeMs);
}

export function isRemembered(attended: Attended, now: number): boolean {
  return attentionNow(attended, now) >= ATTENTION.forgottenBelow;
}

/** The most first. All fade alike, so the order stays while nobody attends to anything. */
export function byAttention(a: Attended, b: Attended): number {
  const halvings = (one: Attended): number => Math.log2(one.score) + one.at / ATTENTION.halfLifeMs;
  return halvings(b) - halvings(a) || (a.name < b.name ? -1 : 1);
}

export interface AttendWish {
  readonly name: string;
  /** Null = somewhat more than it has. */
  readonly score: number | null;
}

export interface Attend {
  readonly score: number;
  /** Names whose rows go: what is forgotten, and, beyond so many, what got the least. */
  readonly gone: readonly string[];
}

/** `kept`: everything the brain has. What is attended to now stays, however little it got. */
export function decideAttend(kept: readonly Attended[], { name, score: given }: AttendWish, now: number): Attend {
  const present = kept.find((one) => one.name === name);
  const before = present === undefined ? 0 : attentionNow(present, now);
  const score = given ?? Math.min(1, before + ATTENTION.step);
  const others = kept.filter((one) => one.name !== name);
  const staying = others
    .filter((one) => isRemembered(one, now))
    .sort((a, b) => attentionNow(b, now) - attentionNow(a, now))
    .slice(0, ATTENTION.names - 1);
  const names = new Set(staying.map((one) => one.name));
  if (score >= ATTENTION.forgottenBelow) names.add(name);
  return { score, gone: kept.map((one) => one.name).filter((one) => !names.has(one)) };
}
