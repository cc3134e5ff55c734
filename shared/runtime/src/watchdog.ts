/**
 * Ends a process whose event loop stands still: it would keep its connections, its locks and whatever it has in hand, and
 * do nothing. Whoever started it starts it again.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

export const LOOK_EVERY_MS = 250;
const YOUNG_GENERATION_MB = 1;

export interface WatchdogTask {
  /** Counts the turns of the watched loop. */
  readonly turns: SharedArrayBuffer;
  readonly limitMs: number;
}

interface Watchdog {
  close(): Promise<void>;
}

/** `limitMs`: how long the loop may stand still; 0 = for ever. */
export function startWatchdog(limitMs: number): Watchdog {
  if (limitMs === 0) return { close: async () => {} };
  const task: WatchdogTask = { turns: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT), limitMs };
  const turns = new Int32Array(task.turns);
  const timer = setInterval(() => Atomics.add(turns, 0, 1), LOOK_EVERY_MS);
  timer.unref();
  const compiled = getCompileCacheDir();
  const worker = new Worker(new URL('./watchdog.worker.ts', import.meta.url), {
    workerData: task,
    // Without its compiled code it would load what strips types, which is larger than all it does.
    env: compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) },
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  worker.unref();
  return {
    async close() {
      clearInterval(timer);
      await worker.terminate();
    },
  };
}
