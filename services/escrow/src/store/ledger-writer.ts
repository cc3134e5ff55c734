/** Folds what waits into transactions: a busy account costs one commit for all its callers, not one for each. */
import { setImmediate } from 'node:timers/promises';
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { holdKey } from '../domain/hold.ts';
import type { JudgedGroup } from './group-commit.ts';
import type { Move, Outcome } from './move.ts';

interface WriterOptions {
  /** Transactions at once. Requests of one account share a lane. */
  readonly lanes: number;
  readonly clock: Clock;
  /** Folds the requests into one transaction and commits it. */
  commit(moves: readonly Move[], deadlineAt: number): Promise<JudgedGroup['results']>;
}

export interface LedgerWriter {
  /** Resolves when the outcome is durable. Throws CallError. */
  submit<Answer, Code extends RefusalCode>(move: Move<Answer, Code>): Promise<Outcome<Answer, Code>>;
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>;
}

/** More in one transaction would only make the first wait longer for the last. */
const MAX_FOLDED = 256;
const MAX_WAITING = 10_000;

interface Waiting {
  readonly move: Move;
  readonly settled: PromiseWithResolvers<Outcome>;
}

export function createLedgerWriter({ lanes, clock, commit }: WriterOptions): LedgerWriter {
  const queues = Array.from({ length: lanes }, () => new Lane({ clock, commit }));
  return {
    submit<Answer, Code extends RefusalCode>(move: Move<Answer, Code>) {
      const lane = queues[laneOf(move.needs, lanes)];
      if (lane === undefined) throw new RangeError('a writer has at least one lane');
      return lane.add(move) as Promise<Outcome<Answer, Code>>;
    },
    async drain() {
      await Promise.all(queues.map((lane) => lane.drain()));
    },
  };
}

function laneOf({ accounts, holds, paid, owner }: Move['needs'], lanes: number): number {
  const held = holds?.[0];
  const name = accounts?.[0] ?? (held && holdKey(held)) ?? paid?.[0] ?? owner ?? '';
  let sum = 0;
  for (let index = 0; index < name.length; index += 1) sum = (Math.imul(sum, 31) + name.charCodeAt(index)) >>> 0;
  return sum % lanes;
}

class Lane {
  readonly #options: Omit<WriterOptions, 'lanes'>;
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  constructor(options: Omit<WriterOptions, 'lanes'>) {
    this.#options = options;
  }

  add(move: Move): Promise<Outcome> {
    if (this.#waiting.length >= MAX_WAITING) throw new CallError('E_BUSY');
    const settled = Promise.withResolvers<Outcome>();
    this.#waiting.push({ move, settled });
    this.#running ??= this.#run();
    return settled.promise;
  }

  async drain(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    await setImmediate(); // whoever comes in the same turn goes along
    while (this.#waiting.length > 0) await this.#commit(this.#take());
    this.#running = null;
  }

  #take(): Waiting[] {
    const now = this.#options.clock.now();
    return this.#waiting.splice(0, MAX_FOLDED).filter(({ move, settled }) => {
      const isLate = move.call.deadlineAt <= now;
      if (isLate) settled.reject(new CallError('TIMEOUT'));
      return !isLate;
    });
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const deadlineAt = Math.max(...batch.map(({ move }) => move.call.deadlineAt));
      const moves = batch.map(({ move }) => move);
      settle(batch, await this.#options.commit(moves, deadlineAt));
    } catch (error) {
      // A typed failure is one of the database and meets all; a bug is somebody's own, so each goes alone.
      if (error instanceof CallError || batch.length === 1) for (const { settled } of batch) settled.reject(error);
      else for (const one of batch) await this.#commit([one]);
    }
  }
}

function settle(batch: readonly Waiting[], results: JudgedGroup['results']): void {
  for (const [index, { settled }] of batch.entries()) {
    const result = results[index];
    if (result === undefined) settled.reject(new Error('a request was folded and has no result'));
    else if ('rejected' in result) settled.reject(result.rejected);
    else settled.resolve(result);
  }
}
