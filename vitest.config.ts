import { defineConfig } from 'vitest/config';
import { e2eProjects } from './test-e2e/vitest.config.ts';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{services,shared}/*/src/**/*.test.ts', '{deploy,toolchain,bench}/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
          pool: 'forks',
          // Suites against real servers start them first.
          testTimeout: 60_000,
          hookTimeout: 90_000,
        },
      },
      ...e2eProjects,
    ],
  },
});
