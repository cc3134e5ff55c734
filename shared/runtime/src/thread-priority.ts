/** Which threads of a process go first. */
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/**
 * Everything else goes before this thread from now on, if it does not already. Returns the priority of the thread; null =
 * the system has none for each thread, or does not let us set it, and nothing has changed.
 */
export function letOthersGoFirst(): number | null {
  if (process.platform !== 'linux') return null;
  try {
    const id = Number(basename(readlinkSync('/proc/thread-self')));
    const priority = Math.max(getPriority(id), constants.priority.PRIORITY_BELOW_NORMAL);
    setPriority(id, priority);
    return priority;
  } catch {
    return null;
  }
}
