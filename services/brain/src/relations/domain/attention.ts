/** What a workspace pays attention to in a brain. It fades, and what nobody cares for any more is forgotten. */
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

/** One of a brain to which several workspaces attend. */
export interface AttendedHere extends Attended {
  readonly workspace: string;
}

export interface AttendWish {
  readonly workspace: string;
  readonly name: string;
  /** Null = somewhat more than it has. */
  readonly score: number | null;
}

type Row = Pick<AttendedHere, 'workspace' | 'name'>;

interface Attend {
  readonly score: number;
  /** Rows that go: what is forgotten, and, beyond so many, what got the least where most is attended to. */
  readonly gone: readonly Row[];
}

/** `kept`: everything the brain has. What is attended to now stays, however little it got. */
export function decideAttend(kept: readonly AttendedHere[], wish: AttendWish, now: number): Attend {
  const isMeant = (one: Row): boolean => one.workspace === wish.workspace && one.name === wish.name;
  const present = kept.find(isMeant);
  const before = present === undefined ? 0 : attentionNow(present, now);
  const score = wish.score ?? Math.min(1, before + ATTENTION.step);
  const others = kept.filter((one) => !isMeant(one));
  const gone: Row[] = others.filter((one) => !isRemembered(one, now));
  if (score < ATTENTION.forgottenBelow) gone.push(wish);
  const staying = others.filter((one) => isRemembered(one, now)).sort(byAttention);
  const room = ATTENTION.names - (score < ATTENTION.forgottenBelow ? 0 : 1);
  while (staying.length > room) gone.push(...staying.splice(leastOf(staying, busiest(staying, wish)), 1));
  return { score, gone: gone.map(({ workspace, name }) => ({ workspace, name })) };
}

/** Which workspace has the most names, with the one that is added. */
function busiest(staying: readonly Row[], added: Row): string {
  const counts = new Map([[added.workspace, 1]]);
  for (const { workspace } of staying) counts.set(workspace, (counts.get(workspace) ?? 0) + 1);
  const [first] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return first?.[0] ?? '';
}

/** They are in the order of their attention; those of another workspace only where the busiest has none to give. */
function leastOf(staying: readonly Row[], workspace: string): number {
  const found = staying.findLastIndex((one) => one.workspace === workspace);
  return found === -1 ? staying.length - 1 : found;
}
