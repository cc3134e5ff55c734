/** How every process of the system starts and ends. */
import { url as inspectorUrl } from 'node:inspector';
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { releaseGarbageWhenIdle } from '@svc/runtime/garbage-of-start.ts';
import { createLifecycle, type Lifecycle } from '@svc/runtime/lifecycle.ts';
import { startWatchdog } from '@svc/runtime/watchdog.ts';
import { createProcessContext, type ProcessContext, takeEnvironment } from './process-context.ts';
import { startSentence } from './start-sentence.ts';

/** After SIGTERM nothing may take longer, also with the wait for balancers. */
const HARD_STOP_MS = 25_000;
/** After a start that failed, whatever is connected to what was open already. */
const FAILED_STOP_MS = 700;
/** A terminal sends Ctrl-C to everybody in it, and npm and the launcher hand it on: one key arrives several times. */
const SAME_KEY_MS = 500;

export interface Start {
  readonly context: ProcessContext;
  readonly lifecycle: Lifecycle;
}

/** Runs `start`; what the operator must mend is said in a sentence, without a stack. */
export async function runProcess(role: string, start: (given: Start) => Promise<void>): Promise<void> {
  let context: ProcessContext | null = null;
  let lifecycle: Lifecycle | null = null;
  try {
    context = await createProcessContext(takeEnvironment(), role);
    lifecycle = createLifecycle(context.log);
    endOnSignals(lifecycle, context.log);
    // Who looks at it in a debugger stops it on purpose.
    const watchdog = startWatchdog(inspectorUrl() === undefined ? context.config.SVC_WATCHDOG_MS : 0);
    lifecycle.onShutdown('watchdog', () => watchdog.close());
    const starting = start({ context, lifecycle });
    lifecycle.starts(starting);
    await starting;
    // Otherwise it is written at an orderly end, and a process that is always killed compiles everything at each start.
    flushCompileCache();
    releaseGarbageWhenIdle();
  } catch (error) {
    // A start that is ended on purpose is cut short; the orderly end goes on.
    if (lifecycle?.isEnding === true) return;
    const sentence = startSentence(error, context?.config ?? null);
    process.stderr.write(`${sentence ?? (error instanceof Error ? error.stack : String(error))}\n`);
    await Promise.race([lifecycle?.shutdown('start failed'), sleep(FAILED_STOP_MS)]);
    process.exit(1);
  }
}

function endOnSignals(lifecycle: Lifecycle, log: ProcessContext['log']): void {
  let askedAt: number | null = null;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (askedAt !== null && signal === 'SIGINT' && performance.now() - askedAt > SAME_KEY_MS) process.exit(130);
      if (askedAt !== null) return;
      askedAt = performance.now();
      // What a library still had in hand when its server went first must not cut the orderly end short.
      process.on('unhandledRejection', (error) => log.error({ err: error }, 'left behind at the end'));
      setTimeout(() => process.exit(1), HARD_STOP_MS).unref();
      void lifecycle.shutdown(signal).then(() => process.exit(0));
    });
  }
}
