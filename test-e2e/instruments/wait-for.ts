/** Polls with a deadline; the only way in which scenarios wait for what sends no event. */
import { setTimeout as delay } from 'node:timers/promises';

interface WaitOptions {
  /** Given where the contract names a time; otherwise long enough for a busy machine. */
  readonly withinMs?: number | undefined;
  /** A function when it is worth saying what was seen last. */
  readonly what: string | (() => string);
  readonly everyMs?: number;
  /** Errors that count as "not yet"; by default an error ends the wait. */
  readonly ignoreErrors?: (error: unknown) => boolean;
}

const PATIENCE_MS = 150_000;

/** Resolves with the first value that is neither false, null nor undefined. */
export async function waitFor<Value>(
  probe: () => Value | Promise<Value>,
  { withinMs = PATIENCE_MS, what, everyMs = 20, ignoreErrors }: WaitOptions,
): Promise<NonNullable<Value>> {
  const giveUpAt = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== false && value !== null && value !== undefined) return value;
    } catch (error) {
      if (ignoreErrors?.(error) !== true) throw error;
      last = error;
    }
    if (performance.now() > giveUpAt) {
      const said = typeof what === 'string' ? what : what();
      throw new Error(`waited ${withinMs} ms for ${said}`, { cause: last });
    }
    await delay(everyMs);
  }
}
