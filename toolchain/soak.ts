// The seeded scenarios with the counts that are too long for every change: `soak.ts [part …]`. What is set in the
// environment already (a count, a seed) stays.
import { join } from 'node:path';
import { commandStage, runStages, type Stage, vitestStage } from './stages.ts';

interface Part {
  readonly name: string;
  readonly projects: readonly string[];
  readonly files: readonly string[];
  readonly counts: Readonly<Record<string, number | string>>;
}

const scenarios = (...names: string[]): readonly string[] => names.map((name) => `scenarios/${name}.scenario.ts`);

const BOTH = ['e2e-embedded', 'e2e-cluster'];

const PARTS: readonly Part[] = [
  {
    name: 'rules',
    projects: ['unit', 'servers'],
    files: ['services/brain', 'services/escrow', 'services/habitat', 'services/market', 'services/agora'],
    counts: { SVC_TEST_COUNTS: 'full' },
  },
  // What `npm test` runs on PostgreSQL.
  { name: 'embedded', projects: ['unit'], files: [], counts: { SVC_TEST_STORE: 'embedded' } },
  {
    name: 'people',
    projects: ['e2e-embedded'],
    files: scenarios('brain-people', 'brain-people-loops'),
    counts: { E2E_PEOPLE_SEEDS: 1000, E2E_PEOPLE_STEPS: 60, E2E_PEOPLE_SHORTENINGS: 6, E2E_LOOP_COMMITS: 300 },
  },
  {
    name: 'kills',
    projects: ['e2e-embedded'],
    files: scenarios(
      'brain-crash',
      'islands-crash',
      'escrow-crash',
      'brain-merging',
      'memory-crash',
      'storage',
      'brain-backup',
      'market-crash',
      'event-log-crash',
      'agora-crash',
      'universe-crash',
      'agora-convergence',
      'universe-cron-crash',
      'universe-worlds-faults',
      'crews-crash',
    ),
    counts: {
      E2E_DEPLOYMENTS: 5,
      E2E_FEDERATION_SEEDS: 10,
      E2E_FEDERATED_BALLOTS: 200,
      E2E_CRON_SECONDS: 60,
      E2E_CRON_KILL_ROUNDS: 20,
      E2E_CRON_REPLICAS: 3,
      E2E_QUEUED_ITEMS: 1000,
      E2E_POLLERS: 20,
      E2E_QUEUE_KILL_ROUNDS: 25,
      E2E_RESTORE_KILL_ROUNDS: 50,
      E2E_CREW_KILL_ROUNDS: 50,
      E2E_STALLED_WORKERS: 100,
      E2E_LOGGED_EVENTS: 10_000,
      E2E_LOG_KILL_ROUNDS: 50,
      E2E_MARKET_KILL_ROUNDS: 200,
      E2E_AGORA_NODE_KILL_ROUNDS: 100,
      E2E_KILL_ROUNDS: 100,
      E2E_ISLAND_KILLS_INSIDE: 25,
      E2E_STORAGE_KILLS_INSIDE: 25,
      E2E_ISLAND_ROUNDS_WITH_ALL: 5,
      E2E_MERGE_KILL_ROUNDS: 20,
      E2E_BACKUP_FILES: 2000,
      E2E_BACKUP_KILLS: 25,
    },
  },
  {
    name: 'registry',
    projects: BOTH,
    files: scenarios('habitat-audit', 'habitat-concurrency', 'habitat-tampering', 'habitat-families', 'gateway-tokens'),
    counts: {
      E2E_REGISTRY_KILL_ROUNDS: 15,
      E2E_TAMPERED_CHAINS: 100,
      E2E_DENIALS: 10_000,
      E2E_SPAWNED_VOICES: 200,
      E2E_REVOKED_TOKENS: 1000,
    },
  },
  {
    name: 'windows',
    projects: BOTH,
    files: scenarios('gateway-limits', 'habitat-audit', 'qos'),
    counts: { E2E_RATE_WINDOW_S: 60, E2E_DENIALS_WINDOW_S: 60, E2E_BREAKER_OPEN_S: 60 },
  },
  {
    name: 'garbage',
    projects: BOTH,
    files: scenarios('garbage', 'agora-garbage', 'agora-members', 'brain-names-everywhere'),
    counts: {
      E2E_GARBAGE_REQUESTS: 200_000,
      E2E_FITTING_REQUESTS: 20_000,
      E2E_MARKET_GARBAGE_REQUESTS: 50_000,
      E2E_AGORA_GARBAGE_REQUESTS: 5000,
      E2E_CHANGED_MESSAGES: 10_000,
      E2E_UNIVERSE_GARBAGE_REQUESTS: 5000,
      E2E_NAMES: 1500,
    },
  },
  {
    name: 'names',
    projects: ['e2e-embedded'],
    files: scenarios('storage', 'temporary'),
    counts: { E2E_NAMES: 20_000, E2E_STORAGE_KILLS_INSIDE: 25 },
  },
  {
    name: 'poison',
    projects: BOTH,
    files: scenarios('brain-poison'),
    counts: { E2E_POISON_ANSWERS: 20_000, E2E_POISON_SHARE: 1 },
  },
  {
    name: 'rows',
    projects: BOTH,
    files: scenarios('brain-rows', 'brain-search'),
    counts: { E2E_FOUND_AT_ONCE: 1000, E2E_SEARCHED_FILES: 1000, E2E_SEARCHES: 200, E2E_HIDDEN_ANSWERS: 1000 },
  },
  {
    name: 'load',
    projects: BOTH,
    files: scenarios('escrow-load', 'brain-concurrency', 'members-at-once', 'lineage', 'evolution', 'market-storm'),
    counts: {
      E2E_STORM_TRADES: 40,
      E2E_STORM_RACERS: 50,
      E2E_SPENDS: 10_000,
      E2E_REPEATED_SPENDS: 5000,
      E2E_WRITES: 1000,
      E2E_MEMBER_WRITES: 250,
      E2E_LINEAGE_RINGS: 100,
      E2E_INSIGHTS_AT_ONCE: 1000,
    },
  },
  {
    name: 'faults',
    projects: ['e2e-cluster'],
    files: scenarios('faults', 'roll', 'standstill'),
    counts: { E2E_LOAD_PAUSE_MS: 10, E2E_FAULTS_AT_ONCE: 1 },
  },
  {
    name: 'cluster',
    projects: ['e2e-cluster'],
    files: scenarios(
      'brain-crash',
      'escrow-crash',
      'islands-crash',
      'memory-crash',
      'storage',
      'brain-backup',
      'brain-merging',
      'rolling',
      'market-crash',
      'agora-crash',
      'event-log-crash',
      'universe-crash',
      'universe-cron-crash',
      'universe-worlds-faults',
      'crews-crash',
    ),
    counts: {
      E2E_CRON_SECONDS: 60,
      E2E_CRON_KILL_ROUNDS: 20,
      E2E_CRON_REPLICAS: 3,
      E2E_QUEUED_ITEMS: 1000,
      E2E_POLLERS: 20,
      E2E_QUEUE_KILL_ROUNDS: 25,
      E2E_RESTORE_KILL_ROUNDS: 50,
      E2E_CREW_KILL_ROUNDS: 50,
      E2E_STALLED_WORKERS: 100,
      E2E_MARKET_KILL_ROUNDS: 200,
      E2E_AGORA_KILL_ROUNDS: 100,
      E2E_LOGGED_EVENTS: 10_000,
      E2E_LOG_KILL_ROUNDS: 50,
      E2E_KILL_ROUNDS: 40,
      E2E_ISLAND_KILLS_INSIDE: 10,
      E2E_STORAGE_KILLS_INSIDE: 10,
      E2E_BACKUP_FILES: 2000,
      E2E_BACKUP_KILLS: 10,
      E2E_ISLAND_ROUNDS_WITH_ALL: 4,
      E2E_MERGE_KILL_ROUNDS: 10,
      E2E_ROLLING_RESTARTS: 40,
      E2E_LOAD_PAUSE_MS: 20,
      E2E_BANK_SECONDS: 120,
    },
  },
];

const STAGES: readonly Stage[] = [
  ...PARTS.map(stageOf),
  commandStage('nodes', process.execPath, join(import.meta.dirname, 'same-on-nodes.ts')),
];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => STAGES.every((stage) => stage.name !== name));
if (unknown.length > 0) {
  process.stderr.write(`usage: soak.ts [${STAGES.map(({ name }) => name).join('|')} …]\n`);
  process.exitCode = 2;
} else {
  const chosen = STAGES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  process.exitCode = await runStages(chosen);
}

function stageOf({ name, projects, files, counts }: Part) {
  const stage = vitestStage(name, projects, { files });
  return {
    name,
    async run() {
      const before = { ...process.env };
      for (const [variable, value] of Object.entries(counts)) process.env[variable] ??= String(value);
      try {
        return await stage.run();
      } finally {
        process.env = before;
      }
    },
  };
}
