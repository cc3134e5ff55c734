/** Groups what waits for one thing into transactions: a busy thing costs one commit for all its callers, not one for each. */
import { setImmediate } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import type { Clock } from './clock.ts';
import { isDatabaseAway } from './database-errors.ts';

interface Submitted<Wish, Answer> {
  readonly wish: Wish;
  readonly deadlineAt: number;
  readonly settled: PromiseWithResolvers<Answer>;
}

interface GroupCommit<Wish, Answer> {
  /** Resolves when the outcome is durable. Throws what `commit` throws, TIMEOUT when it was too late, E_BUSY when too much waits. */
  submit(lane: string, wish: Wish, deadlineAt: number): Promise<Answer>;
}

/** More in one transaction would make the first wait longer for the last, unless each costs little beside the commit. */
const MAX_GROUPED = 64;
const MAX_WAITING = 10_000;

/**
 * `commit` makes one transaction of the wishes of a lane and returns their answers in the same order. What waits in one
 * lane does not wait for another. `most` = wishes of one transaction.
 */
export function createGroupCommit<Wish, Answer>(
  clock: Clock,
  commit: (wishes: readonly Wish[], deadlineAt: number) => Promise<readonly Answer[]>,
  most = MAX_GROUPED,
): GroupCommit<Wish, Answer> {
  const lanes = new Map<string, Submitted<Wish, Answer>[]>();

  async function commitAll(batch: readonly Submitted<Wish, Answer>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const deadlineAt = Math.max(...batch.map((one) => one.deadlineAt));
      const answers = await commit(
        batch.map(({ wish }) => wish),
        deadlineAt,
      );
      for (const [index, { settled }] of batch.entries()) settled.resolve(answers[index] as Answer);
    } catch (error) {
      // A failure of the database meets all; a bug is somebody's own, so each goes alone.
      if (error instanceof CallError || isDatabaseAway(error) || batch.length === 1)
        for (const { settled } of batch) settled.reject(error);
      else for (const one of batch) await commitAll([one]);
    }
  }

  function take(waiting: Submitted<Wish, Answer>[]): Submitted<Wish, Answer>[] {
    const now = clock.now();
    return waiting.splice(0, most).filter(({ deadlineAt, settled }) => {
      const isLate = deadlineAt <= now;
      if (isLate) settled.reject(new CallError('TIMEOUT'));
      return !isLate;
    });
  }

  async function run(lane: string, waiting: Submitted<Wish, Answer>[]): Promise<void> {
    await setImmediate(); // whoever comes in the same turn goes along
    while (waiting.length > 0) await commitAll(take(waiting));
    lanes.delete(lane);
  }

  return {
    submit(lane, wish, deadlineAt) {
      const waiting = lanes.get(lane);
      if (waiting !== undefined && waiting.length >= MAX_WAITING) throw new CallError('E_BUSY');
      const settled = Promise.withResolvers<Answer>();
      const mine = { wish, deadlineAt, settled };
      if (waiting === undefined) {
        const begun = [mine];
        lanes.set(lane, begun);
        void run(lane, begun);
      } else waiting.push(mine);
      return settled.promise;
    },
  };
}
