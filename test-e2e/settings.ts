/** What a run can be told by its environment. */
import { randomInt } from 'node:crypto';

function count(name: string, fallback: number): number {
  return Number(process.env[name] ?? '') || fallback;
}

/** Every failure prints it; the same seed gives the same random choices. */
export const SEED = count('E2E_SEED', randomInt(1, 2 ** 31));
// Counts are those of every change: about one fifth of what was judged enough, which `npm run soak` goes far beyond.

export const KILL_ROUNDS = count('E2E_KILL_ROUNDS', 2);
export const ROLLING_RESTARTS = count('E2E_ROLLING_RESTARTS', 2);
export const GARBAGE_REQUESTS = count('E2E_GARBAGE_REQUESTS', 2000);
/** Of the ledger; each takes some seconds until everything runs again. */
export const LEDGER_KILL_ROUNDS = count('E2E_KILL_ROUNDS', 2);
/** Of the registry, while roles are granted. */
export const REGISTRY_KILL_ROUNDS = count('E2E_REGISTRY_KILL_ROUNDS', 1);
/** Of a merge that writes many files. */
export const MERGE_KILL_ROUNDS = count('E2E_MERGE_KILL_ROUNDS', 1);
/** Kills that must have come inside a bulk of islands, and rounds that must have ended with all of them there. */
export const ISLAND_KILLS_INSIDE = count('E2E_ISLAND_KILLS_INSIDE', 1);
export const ISLAND_ROUNDS_WITH_ALL = count('E2E_ISLAND_ROUNDS_WITH_ALL', 1);
/** Kills that must have come inside of copying or removing a directory. */
export const STORAGE_KILLS_INSIDE = count('E2E_STORAGE_KILLS_INSIDE', 2);
/** Names of files, half of them hostile. */
export const NAMES = count('E2E_NAMES', 60);
/** Spends that are each sent three times. */
export const REPEATED_SPENDS = count('E2E_REPEATED_SPENDS', 200);
/** Spends of many clients at once. */
export const SPENDS = count('E2E_SPENDS', 400);
/** Agents that one editor spawns to get more than is its due; a minute for each sixty. */
export const SPAWNED_VOICES = count('E2E_SPAWNED_VOICES', 24);
/** A process is killed every three seconds of it. */
export const BANK_SECONDS = count('E2E_BANK_SECONDS', 5);
/** Chains of the audit that are changed behind its back. */
export const TAMPERED_CHAINS = count('E2E_TAMPERED_CHAINS', 21);
/** Denied calls of one caller, which the audit folds. */
export const DENIALS = count('E2E_DENIALS', 1000);
/** Each used, revoked and used again. */
export const REVOKED_TOKENS = count('E2E_REVOKED_TOKENS', 200);
/** Insights that arrive at once, more than a session of work keeps. */
export const INSIGHTS_AT_ONCE = count('E2E_INSIGHTS_AT_ONCE', 300);
/** Pairs of events that try at once to descend from each other. */
export const LINEAGE_RINGS = count('E2E_LINEAGE_RINGS', 20);
/** Writes of each of several processes into one brain. */
export const WRITES_OF_EACH_PROCESS = count('E2E_WRITES', 50);

/** Of each client between two calls, while something happens to the system: a machine that is full shows nothing else. */
export const LOAD_PAUSE_MS = count('E2E_LOAD_PAUSE_MS', 150);

/** Writes that are each looked for at once, in every mode. */
export const FOUND_AT_ONCE = count('E2E_FOUND_AT_ONCE', 200);
/** Files of two brains that are searched by who may see some of them, and the questions. */
export const SEARCHED_FILES = count('E2E_SEARCHED_FILES', 300);
export const SEARCHES = count('E2E_SEARCHES', 60);
/** Answers in which a hidden field is looked for. */
export const HIDDEN_ANSWERS = count('E2E_HIDDEN_ANSWERS', 240);

/** Of the files that are made to break whoever hides parts of them, one in so many, chosen by the seed. */
export const POISON_SHARE = count('E2E_POISON_SHARE', 4);
/** Answers over files that are made to break whoever hides parts of them. */
export const POISON_ANSWERS = count('E2E_POISON_ANSWERS', 60);

/** Sequences of people and agents, and the acts of each. */
export const PEOPLE_SEEDS = count('E2E_PEOPLE_SEEDS', 3);
export const PEOPLE_STEPS = count('E2E_PEOPLE_STEPS', 40);
/** The only sequence to play; 0 = as many as above. */
export const PEOPLE_SEED = count('E2E_PEOPLE_SEED', 0);
/** How often a failing sequence may be played again to find a shorter one. */
export const PEOPLE_SHORTENINGS = count('E2E_PEOPLE_SHORTENINGS', 0);
/** Commits of each of the two that only add. */
export const LOOP_COMMITS = count('E2E_LOOP_COMMITS', 12);

/**
 * What the contract promises, in ms, with room for a machine on which several clusters share two cores; scenarios report
 * the time that was really taken.
 */
export function promised(ms: number): number {
  return 5 * ms;
}

/** Files of the brain that is backed up under writes, and kills inside of backups and restores. */
export const BACKUP_FILES = count('E2E_BACKUP_FILES', 200);
export const BACKUP_KILLS = count('E2E_BACKUP_KILLS', 2);
