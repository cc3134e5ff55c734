/** How much the event loop of a node has worked, which a machine that is full does not change. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Of the node that holds the data directory: processor time of its main thread, in ms. Where the system does not tell it,
 * the time that went by, which is never less.
 */
export function loopTimeOf(dataDir: string): () => number {
  if (process.platform !== 'linux') return () => performance.now();
  const [pid] = readFileSync(join(dataDir, 'service.lock'), 'utf8').split(' ');
  return () => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}
