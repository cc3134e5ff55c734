/** The checks that need no running service, fastest first. */
import { commandStage } from './stages.ts';

export const staticChecks = [
  commandStage('format', 'biome', 'format', '.'),
  commandStage('lint', 'oxlint', '--deny-warnings'),
  commandStage('types', 'tsc', '-p', 'tsconfig.json'),
  commandStage('generated files', process.execPath, ...process.execArgv, 'toolchain/generate.ts', '--check'),
  commandStage('migrations', process.execPath, ...process.execArgv, 'toolchain/migration.ts', 'check'),
];
