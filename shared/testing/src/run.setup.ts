/**
 * What the suites of a run share: a folder for their temporary files, gone when the run is over, and a PostgreSQL. Once for
 * all projects of a run.
 */
import { chmodSync } from 'node:fs';
import { fastFolder } from './fast-folder.ts';
import { removeFolder, temporaryFolder } from './servers/processes.ts';
import { startRunPostgres } from './servers/run-postgres.ts';

let started: Promise<() => Promise<void>> | null = null;

export async function setup(): Promise<void> {
  started ??= start();
  await started;
}

export async function teardown(): Promise<void> {
  const stop = await started;
  started = null;
  await stop?.();
}

async function start(): Promise<() => Promise<void>> {
  const folder = temporaryFolder('run', { inside: fastFolder() });
  // Servers that are not root pass through it.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
  const postgres = await startRunPostgres();
  return async () => {
    await postgres?.stop();
    removeFolder(folder);
  };
}
