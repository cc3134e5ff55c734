/** What a topic may be when it is opened. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const SHORTEST_MS = 1000;
export const LONGEST_MS = 90 * 86_400_000;
export const DEFAULT_MS = 86_400_000;
/** Of one family. */
export const MAX_OPEN_TOPICS = 1000;
export const OPTIONS = { least: 2, most: 20, longest: 100 } as const;

/** `deadline` null = the usual time from now. */
export function decideDeadline(deadline: number | null, now: number): Decision<number, 'E_DEADLINE'> {
  const chosen = deadline ?? now + DEFAULT_MS;
  if (chosen < now + SHORTEST_MS || chosen > now + LONGEST_MS) {
    return deny('E_DEADLINE', { earliest: now + SHORTEST_MS, latest: now + LONGEST_MS });
  }
  return allow(chosen);
}

export function decideRoom(open: number): Decision<null, 'E_QUOTA'> {
  return open >= MAX_OPEN_TOPICS ? deny('E_QUOTA', { limit: MAX_OPEN_TOPICS }) : allow(null);
}

/** Options as they are kept: NFC, without blanks around them. */
export function optionsOf(written: readonly string[]): readonly string[] {
  return written.map(outcomeOf);
}

/** What was voted for, written as the options are. */
export function outcomeOf(written: string): string {
  return written.normalize('NFC').trim();
}

/** What is wrong with them; null = nothing. */
export function problemOfOptions(options: readonly string[]): string | null {
  if (options.some((option) => option === '' || option.length > OPTIONS.longest || !option.isWellFormed())) {
    return `each option has 1 to ${OPTIONS.longest} characters`;
  }
  if (options.some((option) => option.includes('\0'))) return 'an option has a character that cannot be kept';
  if (options.some((option) => !isCountable(option))) return '__proto__ is no option';
  return new Set(options).size === options.length ? null : 'two options are the same';
}

/** Ballots are counted by option, and that name is nobody's own key of an object once it was read from JSON. */
function isCountable(option: string): boolean {
  return option !== '__proto__';
}
