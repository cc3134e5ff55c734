/** The temporary files of a run of suites lie in one folder, which is gone when the run is over. */
import { chmodSync } from 'node:fs';
import { fastFolder } from './fast-folder.ts';
import { removeFolder, temporaryFolder } from './servers/processes.ts';

let folder: string | null = null;

export function setup(): void {
  // Once for all projects of a run.
  if (folder !== null) return;
  folder = temporaryFolder('run', { inside: fastFolder() });
  // Servers that are not root pass through it.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = folder;
}

export function teardown(): void {
  if (folder !== null) removeFolder(folder);
}
