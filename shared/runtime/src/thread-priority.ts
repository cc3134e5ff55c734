/** Which threads of a process go first. */
import { readlinkSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/** Of this thread, as the system counts them; null = the system has no priority for each. */
function threadId(): number | null {
  if (process.platform !== 'linux') return null;
  try {
    return Number(basename(readlinkSync('/proc/thread-self')));
  } catch {
    return null;
  }
}

/** Everything else goes before this thread from now on, where the system can tell them apart. Returns its priority; null = it cannot. */
export function letOthersGoFirst(): number | null {
  const id = threadId();
  if (id === null) return null;
  setPriority(id, constants.priority.PRIORITY_BELOW_NORMAL);
  return getPriority(id);
}
