/** A thread for each run, ended from outside when it is done, when its time is over, or when it takes too much memory. */
import '@svc/runtime/wasm-code.ts';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Ended, SandboxTask } from './domain/outcome.ts';
import type { SandboxThread } from './sandbox.worker.ts';

export interface Sandbox {
  /** What the thread told, or how it ended without telling anything. `canary`: a text that only an escape can read. */
  run(task: SandboxTask, timeMs: number, canary?: string): Promise<unknown>;
  /** Threads that are at work now. */
  running(): number;
  /** Ends every thread; what it had in hand comes to 'failed'. */
  close(): Promise<void>;
}

const SCRIPT = new URL('./sandbox.worker.ts', import.meta.url);
const VARIANT = '@jitl/quickjs-wasmfile-release-sync';

/** The engine is up within this, or the run has failed; it does not count as time of the guest. All others go before it. */
const START_MS = 30_000;
/** Beside the memory of the engine, which is not on the heap of the thread. */
const HEAP_MB = 48;
const YOUNG_MB = 8;

const ownRequire = createRequire(import.meta.url);
const { version } = ownRequire(`${VARIANT}/package.json`) as { readonly version: string };

export const ENGINE = { name: 'quickjs', version };

export function createSandbox(): Sandbox {
  let engine: Promise<WebAssembly.Module> | null = null;
  const threads = new Set<Worker>();
  return {
    async run(task, timeMs, canary = '') {
      engine ??= readFile(ownRequire.resolve(`${VARIANT}/wasm`)).then((bytes) => WebAssembly.compile(bytes));
      const worker = startThread({ engine: await engine, task, canary });
      threads.add(worker);
      worker.on('exit', () => threads.delete(worker));
      return outcomeOf(worker, timeMs);
    },
    running: () => threads.size,
    close: async () => void (await Promise.all([...threads].map((worker) => worker.terminate()))),
  };
}

function startThread(data: SandboxThread): Worker {
  return new Worker(SCRIPT, {
    workerData: data,
    env: { canary: data.canary },
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_MB },
  });
}

/** The first thing that happens decides; then the thread is ended, whatever it does. */
function outcomeOf(worker: Worker, timeMs: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const end = (outcome: unknown): void => {
    clearTimeout(limit);
    void worker.terminate();
    resolve(outcome);
  };
  let limit = setTimeout(end, START_MS, 'failed' satisfies Ended);
  worker.on('message', (message: unknown) => {
    if (message !== 'begins') return end(toldOf(message));
    clearTimeout(limit);
    limit = setTimeout(end, timeMs, 'too slow' satisfies Ended);
  });
  worker.on('error', (error: NodeJS.ErrnoException) =>
    end((error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'too large' : 'failed') satisfies Ended),
  );
  worker.on('exit', () => end('failed' satisfies Ended));
  return promise;
}

function toldOf(message: unknown): unknown {
  const { told } = message as { readonly told: string };
  try {
    return JSON.parse(told) as unknown;
  } catch {
    return 'failed' satisfies Ended;
  }
}
