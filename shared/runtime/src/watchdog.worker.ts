/** The thread that watches. It counts its own looks and not time, so that a machine that slept, or a process that was stopped as a whole, is not mistaken. */
import { readFileSync, write } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { LOOK_EVERY_MS, type WatchdogTask } from './watchdog.ts';

const { turns, limitMs } = workerData as WatchdogTask;
const counted = new Int32Array(turns);
const STDERR = 2;
const NS_PER_MS = 1e6;
let seen = Atomics.load(counted, 0);
let looks = 0;
let waitedBeforeMs = 0;

/** How long the thread of the loop has waited for a processor since it began; 0 where the system does not tell. */
function waitedMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/self/schedstat', 'utf8').split(' ');
    return Number(waitedNs) / NS_PER_MS;
  } catch {
    return 0;
  }
}

setInterval(() => {
  const now = Atomics.load(counted, 0);
  if (now !== seen) {
    seen = now;
    looks = 0;
    return;
  }
  if (looks === 0) waitedBeforeMs = waitedMs();
  looks += 1;
  // A loop that gets no processor would go on if it had one: to end it makes a machine that is too full only fuller.
  if (looks * LOOK_EVERY_MS - (waitedMs() - waitedBeforeMs) < limitMs) return;
  end();
}, LOOK_EVERY_MS);

/** Whether or not anybody takes the sentence: what stands still may stand for that. */
function end(): void {
  const kill = () => process.kill(process.pid, 'SIGKILL');
  setTimeout(kill, LOOK_EVERY_MS);
  write(STDERR, `the event loop has stood still for ${limitMs} ms: this process ends itself (SVC_WATCHDOG_MS)\n`, kill);
}
