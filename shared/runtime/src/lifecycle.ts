/** Ordered start and graceful end of a process. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** What a start waits for that is not there, a server for instance, does not hold up the end for longer. */
const START_LEFT_MS = 2000;

/** Thrown into a start that goes on although the end was asked for. */
class StartCutShort extends Error {
  override readonly name = 'StartCutShort';
}

export interface Lifecycle {
  /**
   * Registers how a part ends; parts end in reverse order of registration. Throws StartCutShort when the end was asked
   * for meanwhile; the part is ended with the others.
   */
  onShutdown(part: string, end: () => Promise<void>): void;
  /** What is ended goes no further than to its next part before that part and all others end. */
  starts(start: Promise<void>): void;
  /** Ends every part once, however often it is asked; a part that fails is logged and does not stop the others. */
  shutdown(reason: string): Promise<void>;
  readonly isEnding: boolean;
}

export function createLifecycle(log: Logger): Lifecycle {
  const parts: { part: string; end: () => Promise<void> }[] = [];
  let starting: Promise<void> = Promise.resolve();
  let ending: Promise<void> | null = null;

  async function endAll(reason: string): Promise<void> {
    log.info({ reason }, 'shutting down');
    await Promise.race([starting.catch(() => undefined), sleep(START_LEFT_MS)]);
    for (let last = parts.pop(); last !== undefined; last = parts.pop()) {
      try {
        await last.end();
      } catch (error) {
        log.error({ err: error, part: last.part }, 'a part did not end cleanly');
      }
    }
  }

  return {
    onShutdown(part, end) {
      parts.push({ part, end });
      if (ending !== null) throw new StartCutShort();
    },
    starts(start) {
      starting = start;
    },
    shutdown(reason) {
      ending ??= endAll(reason);
      return ending;
    },
    get isEnding() {
      return ending !== null;
    },
  };
}
