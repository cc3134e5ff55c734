import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { LongestFirst } from './test-e2e/longest-first.ts';
import { e2eProjects } from './test-e2e/vitest.config.ts';

const FOLDERS = ['{services,shared}/*/src/**', 'services/*/testing/**', '{deploy,toolchain,bench}/**'];
const NEEDS_SERVER = '*.{pg,nats,redis}.test.ts';

function suites(name: string, files: string, exclude: readonly string[]): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      include: FOLDERS.map((folder) => `${folder}/${files}`),
      exclude: ['**/node_modules/**', ...exclude],
      pool: 'forks',
      // Node loads our modules itself, as it does when they run: no transform, and its compile cache.
      experimental: { viteModuleRunner: false, nodeLoader: false },
      // By default one core stays free for a person at the keyboard; on two cores that doubles the time.
      maxWorkers: '100%',
      // Some start a server or a database first.
      testTimeout: 60_000,
      hookTimeout: 90_000,
    },
  };
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      suites('unit', '*.test.ts', [`**/${NEEDS_SERVER}`]),
      suites('servers', NEEDS_SERVER, []),
      ...e2eProjects,
    ],
  },
});
