/** Keeps the thread of the embedded database going: one that broke is replaced, and its log brings every commit back. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { EngineReport, EngineRequest } from './database.embedded.worker.ts';
import type { DatabaseLog } from './database.postgres.ts';
import { freeMib } from './free-space.ts';
import { StartProblem } from './start-problem.ts';

const RETRY_MS = 250;

export interface Engine {
  close(): Promise<void>;
}

/** Throws StartProblem when the database does not open; once it did, it is opened again whenever its thread breaks. */
export async function startEngine(request: EngineRequest, log: DatabaseLog): Promise<Engine> {
  let isClosing = false;
  let returning: Promise<void> = Promise.resolve();
  let worker = follow(await openWorker(request));

  function follow(opened: Worker): Worker {
    opened.on('error', (error) => log.fatal({ err: error }, 'embedded database thread failed'));
    opened.on('message', (message: EngineReport) => {
      if (message.kind !== 'broken') return;
      log.fatal({ reason: message.reason }, 'embedded database engine failed');
      void opened.terminate(); // its connections break, so callers learn at once that the database is away
    });
    opened.once('exit', () => {
      if (!isClosing) returning = openAgain();
    });
    return opened;
  }

  /** The disk may be full: it is tried until the engine finds what it needs. */
  async function openAgain(): Promise<void> {
    for (let isFirst = true; !isClosing; isFirst = false) {
      await delay(RETRY_MS);
      try {
        rmSync(request.socketPath, { force: true });
        worker = follow(await openWorker(request));
        log.warn({}, 'embedded database is open again');
        return;
      } catch (error) {
        if (isFirst) log.fatal({ err: error }, 'embedded database does not open again yet');
      }
    }
  }

  return {
    async close() {
      isClosing = true;
      await returning;
      if (worker.threadId === -1) return; // ended by itself
      const exited = once(worker, 'exit');
      worker.postMessage('close'); // oxlint-disable-line unicorn/require-post-message-target-origin -- not a window
      await exited;
    },
  };
}

async function openWorker(request: EngineRequest): Promise<Worker> {
  const worker = new Worker(new URL('./database.embedded.worker.ts', import.meta.url), {
    workerData: request,
    execArgv: [], // options meant for the entry of this process do not fit the thread's
  });
  const exited = new Promise<'exited'>((resolve) => worker.once('exit', () => resolve('exited')));
  const first = await Promise.race([once(worker, 'message').then(([message]) => message as EngineReport), exited]);
  if (first !== 'exited' && first.kind === 'ready') return worker;
  await worker.terminate();
  const reason = first !== 'exited' && 'reason' in first ? first.reason : 'its thread ended';
  const { directory } = request;
  // The engine does not say what it lacked, and on a full disk it is room.
  const free = `free space ${freeMib(directory)} MiB`;
  throw new StartProblem(`the embedded database in ${directory} does not open: ${reason}; ${free}`);
}
