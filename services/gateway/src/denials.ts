/** Denied calls in the log, equal ones of a minute folded into one entry with their number. */
import type { StatelessPlatform } from '@svc/runtime/platform.ts';

export interface Denials {
  note(principal: string, tool: string, code: string): void;
  /** Writes what is still being counted. */
  close(): void;
}

const FOLD_MS = 60_000;
const SWEEP_MS = 10_000;
/** Many different denials at once are written early rather than kept. */
const MAX_KEPT = 10_000;

interface Denial {
  readonly principal: string;
  readonly tool: string;
  readonly code: string;
  readonly firstAt: number;
  count: number;
}

const DENIAL_CODES: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'RLS_DENIED']);

export function createDenials({ clock, log }: Pick<StatelessPlatform, 'clock' | 'log'>): Denials {
  const kept = new Map<string, Denial>();

  function write(isDue: (denial: Denial) => boolean): void {
    for (const [key, denial] of kept) {
      if (!isDue(denial)) continue;
      kept.delete(key);
      log.warn({ ...denial }, 'denied');
    }
  }

  const timer = setInterval(() => write(({ firstAt }) => clock.now() - firstAt >= FOLD_MS), SWEEP_MS);
  timer.unref();
  return {
    note(principal, tool, code) {
      if (!DENIAL_CODES.has(code)) return;
      const key = `${principal} ${tool} ${code}`;
      const known = kept.get(key);
      if (known !== undefined) known.count += 1;
      else kept.set(key, { principal, tool, code, firstAt: clock.now(), count: 1 });
      if (kept.size > MAX_KEPT) write(() => true);
    },
    close() {
      clearInterval(timer);
      write(() => true);
    },
  };
}
