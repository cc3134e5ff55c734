/** What was cut off is finished one after the other: one that cannot be finished now does not hold up the rest. */
import { CallError } from '@svc/contract/codes.ts';
import { isDatabaseAway } from '@svc/runtime/database-errors.ts';
import type { Platform } from '@svc/runtime/platform.ts';

/** False = it waits, and the log says why. Throws when the database is away, which meets the rest too. */
export async function finishOne(
  log: Pick<Platform['log'], 'error' | 'warn'>,
  what: Readonly<Record<string, string>>,
  work: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    if (error instanceof CallError && error.code !== 'INTERNAL') {
      log.warn({ ...what, code: error.code }, 'something that was cut off waits to be finished');
    } else log.error({ ...what, err: error }, 'something that was cut off cannot be finished');
    return false;
  }
}
