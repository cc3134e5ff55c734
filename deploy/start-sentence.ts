/** What an operator reads when a process does not start. */
import { statfsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '@svc/runtime/config.ts';
import { type DiskTrouble, diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import { databaseProblemOf } from '@svc/runtime/database.patience.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';

const MIB = 1024 * 1024;

/** Null when nobody foresaw it: then the stack is worth more than a sentence. */
export function startSentence(error: unknown, config: Config | null): string | null {
  if (error instanceof StartProblem) return error.message;
  if (config === null) return null;
  const trouble = diskTroubleOf(error);
  if (trouble !== null && !(trouble.place === 'database' && config.DATABASE_URL !== undefined))
    return diskSentence(trouble, config);
  return databaseProblemOf(error, config.DATABASE_URL);
}

function diskSentence({ reason }: DiskTrouble, config: Config): string {
  const path = resolve(config.SVC_DATA_DIR);
  return `SVC_DATA_DIR: the disk refuses writes at ${path} (${reason}); free space ${freeMib(path)} MiB`;
}

function freeMib(path: string): string {
  try {
    const { bavail, bsize } = statfsSync(path);
    return String(Math.floor((bavail * bsize) / MIB));
  } catch {
    return 'unknown';
  }
}
