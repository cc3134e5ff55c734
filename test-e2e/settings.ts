/** What a run can be told by its environment. */
import { randomInt } from 'node:crypto';

function count(name: string, fallback: number): number {
  return Number(process.env[name] ?? '') || fallback;
}

/** A run that judges a change makes the choices of others before it, so that it says something of the change. */
const KNOWN_SEED = 20_261_124;
/** Every failure prints it; the same seed gives the same random choices. */
export const SEED = count('E2E_SEED', process.env['CI'] === undefined ? randomInt(1, 2 ** 31) : KNOWN_SEED);
// Counts are those of every change: about one tenth of what was judged enough, which `npm run soak` goes far beyond.

export const KILL_ROUNDS = count('E2E_KILL_ROUNDS', 2);
export const ROLLING_RESTARTS = count('E2E_ROLLING_RESTARTS', 2);
export const GARBAGE_REQUESTS = count('E2E_GARBAGE_REQUESTS', 1000);
/** Of all tools, as their declarations allow, by each of three callers. */
export const FITTING_REQUESTS = count('E2E_FITTING_REQUESTS', 300);
/** At the tools of the market alone. */
export const MARKET_GARBAGE_REQUESTS = count('E2E_MARKET_GARBAGE_REQUESTS', 500);
/** At the tools of agora alone. */
export const AGORA_GARBAGE_REQUESTS = count('E2E_AGORA_GARBAGE_REQUESTS', 500);
/** At the tools of the universe alone. */
export const UNIVERSE_GARBAGE_REQUESTS = count('E2E_UNIVERSE_GARBAGE_REQUESTS', 500);
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
export const NAMES = count('E2E_NAMES', 40);
/** Spends that are each sent three times. */
export const REPEATED_SPENDS = count('E2E_REPEATED_SPENDS', 100);
/** Spends of many clients at once. */
export const SPENDS = count('E2E_SPENDS', 200);
/** Agents that one editor spawns to get more than is its due; a minute for each sixty. */
export const SPAWNED_VOICES = count('E2E_SPAWNED_VOICES', 24);
/** A process is killed every three seconds of it. */
export const BANK_SECONDS = count('E2E_BANK_SECONDS', 5);
/** Chains of the audit that are changed behind its back. */
export const TAMPERED_CHAINS = count('E2E_TAMPERED_CHAINS', 21);
/** Denied calls of one caller, which the audit folds. */
export const DENIALS = count('E2E_DENIALS', 500);
/** Each used, revoked and used again. */
export const REVOKED_TOKENS = count('E2E_REVOKED_TOKENS', 100);
/** Insights that arrive at once, more than a session of work keeps. */
export const INSIGHTS_AT_ONCE = count('E2E_INSIGHTS_AT_ONCE', 300);
/** Pairs of events that try at once to descend from each other. */
export const LINEAGE_RINGS = count('E2E_LINEAGE_RINGS', 10);
/** Writes of each of several processes into one brain. */
export const WRITES_OF_EACH_PROCESS = count('E2E_WRITES', 30);
/** Of each of several members, into every family; the dropbox of their workspace has room for a thousand files. */
export const WRITES_OF_EACH_MEMBER = Math.min(250, count('E2E_MEMBER_WRITES', 24));

/** More than one: replicas of different services stand still or are killed together; one tells which of them it was. */
export const FAULTS_AT_ONCE = count('E2E_FAULTS_AT_ONCE', 2);
/** Windows of nodes that are told theirs: those that they have by themselves, in the soak run. */
export const RATE_WINDOW_S = count('E2E_RATE_WINDOW_S', 20);
export const DENIALS_WINDOW_S = count('E2E_DENIALS_WINDOW_S', 12);
export const BREAKER_OPEN_S = count('E2E_BREAKER_OPEN_S', 15);

/** Of each client between two calls, while something happens to the system: a machine that is full shows nothing else. */
export const LOAD_PAUSE_MS = count('E2E_LOAD_PAUSE_MS', 300);

/** Writes that are each looked for at once, in every mode. */
export const FOUND_AT_ONCE = count('E2E_FOUND_AT_ONCE', 100);
/** Files of two brains that are searched by who may see some of them, and the questions. */
export const SEARCHED_FILES = count('E2E_SEARCHED_FILES', 200);
export const SEARCHES = count('E2E_SEARCHES', 40);
/** Answers in which a hidden field is looked for. */
export const HIDDEN_ANSWERS = count('E2E_HIDDEN_ANSWERS', 120);

/** Of the files that are made to break whoever hides parts of them, one in so many, chosen by the seed. */
export const POISON_SHARE = count('E2E_POISON_SHARE', 4);
/** Answers over files that are made to break whoever hides parts of them. */
export const POISON_ANSWERS = count('E2E_POISON_ANSWERS', 40);

/** Sequences of people and agents, and the acts of each. */
export const PEOPLE_SEEDS = count('E2E_PEOPLE_SEEDS', 2);
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
export const BACKUP_FILES = count('E2E_BACKUP_FILES', 120);
export const BACKUP_KILLS = count('E2E_BACKUP_KILLS', 2);

/** Trades that many act on while their time runs out, and how many of each kind act on each. */
export const STORM_TRADES = count('E2E_STORM_TRADES', 6);
export const STORM_RACERS = count('E2E_STORM_RACERS', 10);
/** Of the market, its ledger and what they stand on, while trades are under way. */
export const MARKET_KILL_ROUNDS = count('E2E_MARKET_KILL_ROUNDS', 5);

/** Events that the log has to have, and kills of relays, of the log and of NATS meanwhile. */
export const LOGGED_EVENTS = count('E2E_LOGGED_EVENTS', 1000);
export const LOG_KILL_ROUNDS = count('E2E_LOG_KILL_ROUNDS', 3);
/** Of the universe, the brain and the ledger, while worlds are resumed. */
export const RESTORE_KILL_ROUNDS = count('E2E_RESTORE_KILL_ROUNDS', 3);
/** Work in a queue, pollers that take it, kills of the universe and of pollers meanwhile, and workers that come too late. */
export const QUEUED_ITEMS = count('E2E_QUEUED_ITEMS', 80);
export const POLLERS = count('E2E_POLLERS', 10);
export const QUEUE_KILL_ROUNDS = count('E2E_QUEUE_KILL_ROUNDS', 2);
export const STALLED_WORKERS = count('E2E_STALLED_WORKERS', 10);
/** Deployments on one NATS, how often they vote on new topics, and the ballots of each at each topic of its own. */
export const DEPLOYMENTS = count('E2E_DEPLOYMENTS', 3);
export const FEDERATION_SEEDS = count('E2E_FEDERATION_SEEDS', 1);
/** Between deployments, with one bit or one field that is not as it was sent. */
export const CHANGED_MESSAGES = count('E2E_CHANGED_MESSAGES', 100);
export const FEDERATED_BALLOTS = count('E2E_FEDERATED_BALLOTS', 12);
/** How long jobs run each second, kills of the universe meanwhile, and its processes on the cluster. */
export const CRON_SECONDS = count('E2E_CRON_SECONDS', 8);
export const CRON_KILL_ROUNDS = count('E2E_CRON_KILL_ROUNDS', 2);
export const CRON_REPLICAS = count('E2E_CRON_REPLICAS', 2);
/** Of what crews are made of, while they do tasks. */
export const CREW_KILL_ROUNDS = count('E2E_CREW_KILL_ROUNDS', 2);
/** Of agora and of the registry, while messages are sent, tasks delegated and ballots cast. */
export const AGORA_KILL_ROUNDS = count('E2E_AGORA_KILL_ROUNDS', 3);
/** The same of a node that is everything, which takes longer to start. */
export const AGORA_NODE_KILL_ROUNDS = count('E2E_AGORA_NODE_KILL_ROUNDS', 2);
