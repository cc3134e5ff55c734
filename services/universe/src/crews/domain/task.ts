/** What a task costs, who does it and who votes on it. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { numberOf } from '../../worlds/domain/seed-chain.ts';
import type { Member } from './crew.ts';

const MAX_TEXT_LENGTH = 512;
const LEAST_TRUST = 0.3;
const MICROS_PER_CREDIT = 1_000_000n;

/** Text that comes back from disk and database as it went there. */
export function isTaskText(text: string): boolean {
  return text.length >= 1 && text.length <= MAX_TEXT_LENGTH && text.isWellFormed() && !text.includes('\0');
}

export interface Purse {
  readonly limit: bigint;
  readonly available: bigint;
}

/** As wished, else half of the limit in whole credits, or what is left of it. */
export function decideCost(
  { limit, available }: Purse,
  wished: bigint | null,
): Decision<AmountMicros, 'E_SCENARIO_BUDGET'> {
  const half = (limit / 2n / MICROS_PER_CREDIT) * MICROS_PER_CREDIT;
  const cost = wished ?? (half < available ? half : available);
  if (cost > 0n && cost <= available) return allow(cost as AmountMicros);
  return deny('E_SCENARIO_BUDGET', { available: creditsFromAmount(available as AmountMicros) });
}

/** How a member stands. */
export interface MemberState {
  readonly agentId: string;
  readonly alive: boolean;
  /** It, or whoever is above it. */
  readonly quarantined: boolean;
  /** Trust, 0 to 1. */
  readonly score: number;
}

export function quarantinedOf(states: readonly MemberState[]): string[] {
  return states.filter(({ quarantined }) => quarantined).map(({ agentId }) => agentId);
}

/** Drawn by seed and number; instead of a dead one the next in the roster's order, counted round. */
export function decideExecutor(
  { seed, roster }: { readonly seed: string; readonly roster: readonly Member[] },
  no: number,
  states: readonly MemberState[],
): Decision<Member, 'E_SCENARIO_DELEGATE'> {
  const living = new Set(states.filter(({ alive }) => alive).map(({ agentId }) => agentId));
  const first = numberOf(Buffer.from(seed, 'hex'), roster.length, `task:${no}`);
  const inTurn = [...roster.slice(first), ...roster.slice(0, first)];
  const executor = inTurn.find(({ id }) => living.has(id));
  return executor === undefined ? deny('E_SCENARIO_DELEGATE') : allow(executor);
}

/** Who may vote, in the order of the roster: each signs off by rule. */
export function votersOf(roster: readonly Member[], states: readonly MemberState[]): string[] {
  const fit = states.filter(({ alive, quarantined, score }) => alive && !quarantined && score >= LEAST_TRUST);
  const ids = new Set(fit.map(({ agentId }) => agentId));
  return roster.map(({ id }) => id).filter((id) => ids.has(id));
}

/** More than half of the whole crew. */
export function quorumOf(roster: readonly Member[]): number {
  return Math.floor(roster.length / 2) + 1;
}

/**
 * begun: the price is to be held. held: to be given to a member. delegated: to be voted on. tracking: to be noted; from
 * here on it is finished and not undone, unless the note is refused. capturing: to be paid. undoing: to be given back.
 */
export const OPEN_STATES = ['begun', 'held', 'delegated', 'tracking', 'capturing', 'undoing'] as const;
export type TaskState = (typeof OPEN_STATES)[number] | 'done' | 'refused' | 'undone';

/** Whoever was cut off here has decided nothing yet. */
export function isUndoable(state: TaskState): boolean {
  return state === 'begun' || state === 'held' || state === 'delegated';
}

export function holdIdOf(crew: string, no: number): string {
  return `crew:${crew}:${no}`;
}

export function topicOf(crewId: string, no: number): string {
  return `crew-${crewId.replace(/^crew_/, '')}-${no}`;
}

/** What the note about its tasks is about. */
export function fileOfCrew(crew: string): string {
  return `scenario/${crew}`;
}
