/** Which brains are used one after the other: an edge grows with each session that goes along it, and fades. */
import type { Pointer } from '../../domain/stack.ts';
import { faded } from './fading.ts';

export const SYNAPSES = {
  ofOneBrain: 64,
  ofOneWorkspace: 5000,
  halfLifeMs: 30 * 86_400_000,
  /** Longer ago, and the one has nothing to do with the other. */
  moveWithinMs: 600_000,
} as const;

/** From one brain, by name, to another. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/** `idleMs`: since the session was moved last. Null when it stays, or was away for too long. */
export function moveOf(before: Pointer, after: Pointer, idleMs: number): Move | null {
  const [from, to] = [before.stack[0].brain, after.stack[0].brain];
  return from === to || idleMs > SYNAPSES.moveWithinMs ? null : { from, to };
}

/** `weight` as it was `at`, in ms since the epoch. */
export interface Synapse {
  readonly toId: string;
  readonly weight: number;
  readonly at: number;
}

function weightNow({ weight, at }: Synapse, now: number): number {
  return faded(weight, now - at, SYNAPSES.halfLifeMs);
}

interface Grown {
  readonly weight: number;
  /** The edge is new. */
  readonly isNew: boolean;
  /** The lightest other edge, when there is no room for both. */
  readonly gone: string | null;
}

/** `kept`: the edges from the brain that is left. */
export function decideMove(kept: readonly Synapse[], toId: string, now: number): Grown {
  const present = kept.find((one) => one.toId === toId);
  if (present !== undefined) return { weight: weightNow(present, now) + 1, isNew: false, gone: null };
  const [lightest] = kept.toSorted((a, b) => weightNow(a, now) - weightNow(b, now));
  return { weight: 1, isNew: true, gone: kept.length < SYNAPSES.ofOneBrain ? null : (lightest?.toId ?? null) };
}
