import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { LongestFirst } from './test-e2e/longest-first.ts';
import { e2eProjects, PATIENCE } from './test-e2e/vitest.config.ts';

const FOLDERS = ['{services,shared}/*/src/**', 'services/*/testing/**', '{deploy,toolchain,bench}/**'];
const NEEDS_SERVER = '*.{pg,nats,redis}.test.ts';
/** Many files mostly wait: for a process, a timer, a disk. A share of more than all cores would be cut off at them. */
const WORKERS = availableParallelism() * 2;
/** Measures what the process that it runs in takes: memory, or processor time. */
const ALONE = '*.alone.test.ts';
const SETUPS = join(import.meta.dirname, 'shared', 'testing', 'src');

function suites(
  name: string,
  files: string,
  exclude: readonly string[],
  isolate = false,
): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      include: FOLDERS.map((folder) => `${folder}/${files}`),
      exclude: ['**/node_modules/**', ...exclude],
      pool: 'forks',
      // A worker keeps its modules and the databases of its tests, warm, from one file to the next.
      isolate,
      // Node loads our modules itself, as it does when they run: no transform, and its compile cache.
      experimental: { viteModuleRunner: false, nodeLoader: false },
      maxWorkers: WORKERS,
      setupFiles: [join(SETUPS, 'known-seed.setup.ts')],
      globalSetup: [join(SETUPS, 'run.setup.ts')],
      ...PATIENCE,
    },
  };
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      suites('unit', '*.test.ts', [`**/${NEEDS_SERVER}`, `**/${ALONE}`]),
      suites('alone', ALONE, [], true),
      suites('servers', NEEDS_SERVER, []),
      ...e2eProjects,
    ],
  },
});
