/** Carries rows of a service to another one: stored first, then handed over until it is acknowledged, so each arrives. */
import { CallError, type CallErrorCode } from '@svc/contract/codes.ts';
import type { Platform } from './platform.ts';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';
import { repeatWhileWanted } from './turns.ts';

const AT_ONCE = 100;
/** Nobody waits for it: what takes longer is sent again. */
const ARRIVES_WITHIN_MS = 2000;
const PASSING: readonly CallErrorCode[] = ['SERVICE_UNAVAILABLE', 'TIMEOUT'];

export interface Carrier {
  /** Something was stored. */
  kick(): void;
  /** Carries all that lies there, also what a dead process left; what cannot arrive now waits for the next time. */
  flush(): Promise<void>;
  /** Ends after the one that is under way. */
  close(): Promise<void>;
}

/** Where rows are carried from, and to. What is sent again has no second effect there. */
interface Cargo<Row> {
  /** What it is, for the log. */
  readonly what: string;
  /** The oldest of what has not arrived. */
  read(limit: number): Promise<readonly Row[]>;
  /** One that cannot arrive is tried once in a run, and those behind it as well. */
  idOf(row: Row): string;
  send(row: Row, options: { readonly deadlineAt: number }): Promise<unknown>;
  /** It has arrived as it was read. */
  mark(row: Row): Promise<void>;
}

export function createCarrier<Row>({ clock, log }: Pick<Platform, 'clock' | 'log'>, cargo: Cargo<Row>): Carrier {
  const { what, idOf, read, send, mark } = cargo;
  let isClosed = false;

  /** False when it cannot arrive, which keeps the others from nothing. Throws when nothing can arrive now. */
  async function carry(row: Row): Promise<boolean> {
    try {
      await send(row, { deadlineAt: clock.now() + ARRIVES_WITHIN_MS });
    } catch (error) {
      if (!(error instanceof CallError) || PASSING.includes(error.code)) throw error;
      log.warn({ err: error, what }, 'something cannot be carried');
      return false;
    }
    await mark(row);
    return true;
  }

  async function carryAll(): Promise<void> {
    const stuck = new Set<string>();
    for (let more = true; more && !isClosed; ) {
      const limit = stuck.size + AT_ONCE;
      const waiting = await read(limit);
      const untried = waiting.filter((row) => !stuck.has(idOf(row)));
      for (const row of untried) {
        if (isClosed) return;
        if (!(await carry(row))) stuck.add(idOf(row));
      }
      more = waiting.length === limit && untried.length > 0;
    }
  }

  const trouble = new RepeatedTrouble();
  const { kick, flush } = repeatWhileWanted(async () => {
    try {
      await carryAll();
    } catch (error) {
      const isAway = error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE';
      if (!trouble.isDue(troubleOf(error))) return;
      log[isAway ? 'debug' : 'warn']({ err: error, what }, 'something waits to be carried');
    }
  });
  return {
    kick,
    flush,
    async close() {
      isClosed = true;
      await flush();
    },
  };
}
