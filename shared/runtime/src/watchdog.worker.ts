/** The thread that watches. It counts its own looks and not time, so that a machine that slept, or a process that was stopped as a whole, is not mistaken. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { LOOK_EVERY_MS, type WatchdogTask } from './watchdog.ts';

const { turns, limitMs } = workerData as WatchdogTask;
const counted = new Int32Array(turns);
const STDERR = 2;
let seen = Atomics.load(counted, 0);
let looks = 0;

setInterval(() => {
  const now = Atomics.load(counted, 0);
  looks = now === seen ? looks + 1 : 0;
  seen = now;
  if (looks * LOOK_EVERY_MS < limitMs) return;
  writeSync(STDERR, `the event loop has stood still for ${limitMs} ms: this process ends itself (SVC_WATCHDOG_MS)\n`);
  process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);
