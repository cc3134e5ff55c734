/** Ordered start and graceful end of a process. */
import type { Logger } from 'pino';

export interface Lifecycle {
  /** Registers how a part ends; parts end in reverse order of registration. */
  onShutdown(part: string, end: () => Promise<void>): void;
  /** Ends every part once, however often it is asked; a part that fails is logged and does not stop the others. */
  shutdown(reason: string): Promise<void>;
}

export function createLifecycle(log: Logger): Lifecycle {
  const parts: { part: string; end: () => Promise<void> }[] = [];
  let ending: Promise<void> | null = null;

  async function endAll(reason: string): Promise<void> {
    log.info({ reason }, 'shutting down');
    for (const { part, end } of parts.toReversed()) {
      try {
        await end();
      } catch (error) {
        log.error({ err: error, part }, 'a part did not end cleanly');
      }
    }
  }

  return {
    onShutdown(part, end) {
      parts.push({ part, end });
    },
    shutdown(reason) {
      ending ??= endAll(reason);
      return ending;
    },
  };
}
