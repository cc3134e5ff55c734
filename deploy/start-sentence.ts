/** What an operator reads when a process does not start. */
import { resolve } from 'node:path';
import type { Config } from '@svc/runtime/config.ts';
import { type DiskTrouble, diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import { databaseProblemOf } from '@svc/runtime/database.patience.ts';
import { freeMib } from '@svc/runtime/free-space.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';

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
