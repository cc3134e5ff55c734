/** `SVC_MODE=cli`: a prompt on the node of the data directory; when none runs, one is started and lives as long as the prompt. */
import { resolve } from 'node:path';
import { openPrompt } from '@svc/cli/prompt.ts';
import { runCli } from '@svc/cli/run.ts';
import { takeProcess } from './command-line.ts';
import { findNode } from './node-address.ts';

/** What a node tells of itself must not stand between the lines of a person. */
const QUIET = 'warn';

export async function runPromptMode(startNode: () => Promise<void>): Promise<void> {
  const directory = resolve(process.env['SVC_DATA_DIR'] || './data');
  const isOurs = findNode(directory) === 'absent';
  if (isOurs) {
    process.env['SVC_LOG_LEVEL'] ??= QUIET;
    await startNode();
    // Ctrl-C ends the command that runs, and not the node.
    process.removeAllListeners('SIGINT');
  }
  const node = findNode(directory);
  if (typeof node === 'object') process.env['SVC_URL'] = node.url;
  const { surroundings } = takeProcess();
  process.exitCode = await openPrompt(surroundings, runCli);
  if (isOurs) process.kill(process.pid, 'SIGTERM');
}
