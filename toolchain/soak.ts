// The seeded scenarios with the counts that are too long for every change: `soak.ts [part …]`. What is set in the
// environment already (a count, a seed) stays.
import { runStages, vitestStage } from './stages.ts';

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
    files: ['services/brain', 'services/escrow', 'services/habitat', 'services/market'],
    counts: { SVC_TEST_COUNTS: 'full' },
  },
  {
    name: 'people',
    projects: ['e2e-embedded'],
    files: scenarios('brain-people', 'brain-people-loops'),
    counts: { E2E_PEOPLE_SEEDS: 1000, E2E_PEOPLE_STEPS: 60, E2E_PEOPLE_SHORTENINGS: 6, E2E_LOOP_COMMITS: 300 },
  },
  {
    name: 'kills',
    projects: ['e2e-embedded'],
    files: scenarios('brain-crash', 'islands-crash', 'escrow-crash', 'brain-merging', 'memory-crash', 'brain-backup'),
    counts: {
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
    name: 'garbage',
    projects: BOTH,
    files: scenarios('garbage', 'brain-names-everywhere'),
    counts: { E2E_GARBAGE_REQUESTS: 200_000, E2E_NAMES: 1500 },
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
    files: scenarios('escrow-load', 'brain-concurrency', 'lineage', 'evolution'),
    counts: {
      E2E_SPENDS: 10_000,
      E2E_REPEATED_SPENDS: 5000,
      E2E_WRITES: 1000,
      E2E_LINEAGE_RINGS: 100,
      E2E_INSIGHTS_AT_ONCE: 1000,
    },
  },
  {
    name: 'faults',
    projects: ['e2e-cluster'],
    files: scenarios('faults', 'roll', 'standstill'),
    counts: { E2E_LOAD_PAUSE_MS: 10 },
  },
  {
    name: 'cluster',
    projects: ['e2e-cluster'],
    files: scenarios('brain-crash', 'escrow-crash', 'islands-crash', 'brain-merging', 'rolling'),
    counts: {
      E2E_KILL_ROUNDS: 40,
      E2E_ISLAND_KILLS_INSIDE: 10,
      E2E_STORAGE_KILLS_INSIDE: 10,
      E2E_ISLAND_ROUNDS_WITH_ALL: 4,
      E2E_MERGE_KILL_ROUNDS: 10,
      E2E_ROLLING_RESTARTS: 40,
      E2E_LOAD_PAUSE_MS: 20,
      E2E_BANK_SECONDS: 120,
    },
  },
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => PARTS.every((part) => part.name !== name));
if (unknown.length > 0) {
  process.stderr.write(`usage: soak.ts [${PARTS.map(({ name }) => name).join('|')} …]\n`);
  process.exitCode = 2;
} else {
  const chosen = PARTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  process.exitCode = await runStages(chosen.map(stageOf));
}

function stageOf({ name, projects, files, counts }: Part) {
  const stage = vitestStage(name, projects, files);
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
