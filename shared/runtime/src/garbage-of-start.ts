/**
 * What a start leaves behind: the young generation, grown while modules loaded, keeps its size as long as nobody calls,
 * and nothing collects it. Calls grow it again, as far as they need.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Short lives end before. */
const LOOK_EVERY_MS = 5_000;
/**
 * By how much memory that has been in use for long grows, in percent, until it is collected again. Left to itself V8 goes by how
 * fast it collected before: where others keep the machine busy it grew by little, and was collected again and again.
 */
const GROWTH_PERCENT = 100;
/** Share of the time in which the thread did anything. Who is called needs the room, and would wait for the collection. */
const IDLE = 0.2;

interface Collection {
  readonly type: 'major';
  /** An ordinary collection keeps the pages that it emptied, some of the time, for what comes. */
  readonly flavor: 'last-resort';
}

/** For the thread that has started: once, when it is idle. It stands still meanwhile, for some tenths of a second. */
export function releaseGarbageWhenIdle(lookEveryMs = LOOK_EVERY_MS): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  let before = performance.eventLoopUtilization();
  const looks = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > IDLE) return;
    clearInterval(looks);
    collect();
  }, lookEveryMs);
  looks.unref();
}

function collect(): void {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as (collection: Collection) => void;
  // The collection drops the shape of a kind of objects of which there is none. Node makes an object of one shape for each tick,
  // and a place that has lost the only shape it knew makes them four times as slowly from then on.
  process.nextTick(() => {});
  collectGarbage({ type: 'major', flavor: 'last-resort' });
}
