/** What a run can be told by its environment. */
import { randomInt } from 'node:crypto';

function count(name: string, fallback: number): number {
  return Number(process.env[name] ?? '') || fallback;
}

/** Every failure prints it; the same seed gives the same random choices. */
export const SEED = count('E2E_SEED', randomInt(1, 2 ** 31));
export const KILL_ROUNDS = count('E2E_KILL_ROUNDS', 10);
export const ROLLING_RESTARTS = count('E2E_ROLLING_RESTARTS', 10);
export const GARBAGE_REQUESTS = count('E2E_GARBAGE_REQUESTS', 20_000);
/** Of the ledger; each takes some seconds until everything runs again. */
export const LEDGER_KILL_ROUNDS = count('E2E_KILL_ROUNDS', 5);
/** Names of files, half of them hostile. */
export const NAMES = count('E2E_NAMES', 300);
/** Spends that are each sent three times. */
export const REPEATED_SPENDS = count('E2E_REPEATED_SPENDS', 1000);
/** Agents that one editor spawns to get more than is its due; a minute for each sixty. */
export const SPAWNED_VOICES = count('E2E_SPAWNED_VOICES', 40);
/** A process is killed every three seconds of it. */
export const BANK_SECONDS = count('E2E_BANK_SECONDS', 9);

/** Answers over files that are made to break whoever hides parts of them. */
export const POISON_ANSWERS = count('E2E_POISON_ANSWERS', 300);

/** Sequences of people and agents, and the acts of each. */
export const PEOPLE_SEEDS = count('E2E_PEOPLE_SEEDS', 12);
export const PEOPLE_STEPS = count('E2E_PEOPLE_STEPS', 40);
/** The only sequence to play; 0 = as many as above. */
export const PEOPLE_SEED = count('E2E_PEOPLE_SEED', 0);
/** How often a failing sequence may be played again to find a shorter one. */
export const PEOPLE_SHORTENINGS = count('E2E_PEOPLE_SHORTENINGS', 0);
/** Commits of each of the two that only add. */
export const LOOP_COMMITS = count('E2E_LOOP_COMMITS', 60);

/**
 * What the contract promises, in ms, with room for a machine on which several clusters share two cores; scenarios report
 * the time that was really taken.
 */
export function promised(ms: number): number {
  return 5 * ms;
}
