/** What a crew may be, what follows from its name, and in which phase it is. */
import { hash } from 'node:crypto';
import { type AmountMicros, amountFromCredits } from '@svc/contract/amount.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const CREW_NAME = /^(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{1,64}$/;
const SIZE = { least: 2, most: 10 } as const;
const MOST_CREDITS = 100_000;

export interface CrewWish {
  readonly name: string;
  readonly agents: number;
  /** In credits. */
  readonly budget: number;
}

export interface CrewPlan {
  readonly name: string;
  readonly size: number;
  readonly limit: AmountMicros;
}

export function isCrewName(name: string): boolean {
  return CREW_NAME.test(name);
}

export function decideCrew({
  name,
  agents,
  budget,
}: CrewWish): Decision<CrewPlan, 'E_SCENARIO_NAME' | 'E_SCENARIO_CREW' | 'E_SCENARIO_BUDGET'> {
  if (!isCrewName(name)) return deny('E_SCENARIO_NAME');
  if (!Number.isInteger(agents) || agents < SIZE.least || agents > SIZE.most) return deny('E_SCENARIO_CREW');
  const limit = amountFromCredits(budget);
  if (limit === null || budget < agents || budget > MOST_CREDITS) return deny('E_SCENARIO_BUDGET');
  return allow({ name, size: agents, limit });
}

const WORKSPACE_LENGTH = 64;
const KEPT = 46;
const MARK_LENGTH = 12;

/** Where it lives. A long name is cut and marked with its hash. */
export function workspaceOfCrew(name: string): string {
  const whole = `crew-${name}`;
  if (whole.length <= WORKSPACE_LENGTH) return whole;
  return `crew-${name.slice(0, KEPT)}-${hash('sha256', name, 'hex').slice(0, MARK_LENGTH)}`;
}

/** Its pool, as the ledger knows it. */
export function accountOfCrew(name: string): string {
  return `crew:${name}`;
}

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly role: 'lead' | 'member';
}

export function rosterOf(name: string, ids: readonly string[]): Member[] {
  return ids.map((id, index) => ({
    id,
    name: `crew-${name}-${index + 1}`,
    role: index === 0 ? 'lead' : 'member',
  }));
}

export const PHASES = ['assembling', 'ready', 'quarantined', 'working', 'closing', 'closed'] as const;
export type Phase = (typeof PHASES)[number];
/** `emptied` = closed out, and nothing is left in the pool. */
export type CrewEvent = 'assembled' | 'held' | 'quarantined' | 'delegated' | 'closed-out' | 'emptied' | 'refused';

/** A crew that is closed, or whose task is under way, begins none. */
const NEXT: Readonly<Record<Phase, Partial<Record<CrewEvent, Phase>>>> = {
  assembling: { assembled: 'ready' },
  ready: { held: 'working', quarantined: 'quarantined', refused: 'ready' },
  quarantined: { held: 'working', quarantined: 'quarantined', refused: 'quarantined' },
  working: { delegated: 'closing', refused: 'ready' },
  closing: { 'closed-out': 'ready', emptied: 'closed', refused: 'ready' },
  closed: {},
};

/** Null = it cannot come to that. */
export function phaseAfter(phase: Phase, event: CrewEvent): Phase | null {
  return NEXT[phase][event] ?? null;
}
