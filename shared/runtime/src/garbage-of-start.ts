/**
 * What a start leaves behind: the young generation, grown while modules loaded, keeps its size as long as nobody calls,
 * and nothing collects it. Calls grow it again, as far as they need.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Collection {
  readonly type: 'major';
  /** An ordinary collection keeps the pages that it emptied, some of the time, for what comes. */
  readonly flavor: 'last-resort';
}

/** For the thread that has started. It stands still meanwhile, once, for some tenths of a second. */
export function releaseGarbageOfStart(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (collection: Collection) => void;
  collect({ type: 'major', flavor: 'last-resort' });
}
