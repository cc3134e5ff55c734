/** The same scenario files once per target, and the test that no requirement lacks a scenario. */
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { AT_ONCE } from './lanes.ts';

/** Limits end what hangs and judge no speed: a machine that is busy takes many times as long, and some start a server first. */
export const PATIENCE = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 30_000 } },
} as const;

const root = fileURLToPath(new URL('.', import.meta.url));

function targetProject(
  target: 'embedded' | 'cluster',
  groupOrder: number,
  maxWorkers: number,
): TestProjectInlineConfiguration {
  return {
    test: {
      name: `e2e-${target}`,
      root,
      include: ['scenarios/*.scenario.ts'],
      globalSetup: ['targets/shared.ts'],
      pool: 'forks',
      // A worker keeps its modules, and the target that its files break and mend, from one file to the next.
      isolate: false,
      experimental: { viteModuleRunner: false, nodeLoader: false },
      // The machine's cores are shared with the processes under test, and several scenarios mostly wait.
      maxWorkers,
      ...PATIENCE,
      retry: 0,
      sequence: { groupOrder },
    },
  };
}

export const e2eProjects: TestProjectInlineConfiguration[] = [
  {
    test: {
      name: 'e2e-coverage',
      root,
      include: ['coverage.test.ts', 'instruments/*.test.ts'],
      ...PATIENCE,
      sequence: { groupOrder: 0 },
    },
  },
  targetProject('embedded', 1, 4),
  // A worker may have a cluster of its own to break, of up to fourteen processes, beside the seven that all share. With
  // two of those, two cores are mostly busy with what idle processes do: lanes.ts says which files may run at once.
  targetProject('cluster', 2, Number(process.env[AT_ONCE] ?? 1)),
];

export default defineConfig({ test: { projects: e2eProjects } });
