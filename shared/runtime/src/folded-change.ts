/** Changes of one kind that many ask for at once, in one transaction, each with an outcome of its own. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Clock } from './clock.ts';
import { createFolding } from './fold.ts';
import type { Once } from './idempotency.ts';
import type { ChangeCall, ChangeOptions } from './store.ts';

/** As that of a store, with whatever unit the service works with. */
export type Change<Unit> = <Value, Code extends string = never>(
  call: ChangeCall,
  work: (unit: Unit) => Promise<Decision<Value, Code>>,
  options?: Pick<ChangeOptions, 'readsFirst'>,
) => Promise<Once<Value, Code>>;

export interface FoldedKind<Unit, Wish, Value, Code extends string> {
  /** What is folded together: wishes of one lane. */
  laneOf(wish: Wish): string;
  /** Effects and outcomes in the order of the wishes. A wish that is denied has no effect. */
  run(unit: Unit, wishes: readonly Wish[]): Promise<readonly Decision<Value, Code>[]>;
  /** As that of a change. */
  readonly readsFirst?: boolean;
  /** Wishes of one transaction, where it is to be another number than that of every folding. */
  readonly most?: number;
}

export type FoldedChange<Wish, Value, Code extends string> = (
  call: ChangeCall,
  wish: Wish,
) => Promise<Once<Value, Code>>;

/** A keyed call goes alone: its outcome is kept with its effect. */
export function createFoldedChange<Unit, Wish, Value, Code extends string>(
  change: Change<Unit>,
  clock: Clock,
  { laneOf, run, most, readsFirst = false }: FoldedKind<Unit, Wish, Value, Code>,
): FoldedChange<Wish, Value, Code> {
  const folding = createFolding<{ readonly wish: Wish; readonly now: number }, Decision<Value, Code>>(
    clock,
    async (asked, deadlineAt) => {
      const call = {
        caller: { subject: {}, operator: false, deadlineAt },
        idempotency: null,
        now: Math.min(...asked.map(({ now }) => now)),
      };
      const wishes = asked.map(({ wish }) => wish);
      const work = async (unit: Unit) => allow(await run(unit, wishes));
      const { decision } = await change<readonly Decision<Value, Code>[]>(call, work, { readsFirst });
      if (!decision.ok) throw new Error('outcomes of many were denied as one');
      return decision.value;
    },
    most,
  );
  return async (call, wish) => {
    if (call.idempotency !== null) {
      return change<Value, Code>(call, async (unit) => only(await run(unit, [wish])));
    }
    const now = call.now ?? clock.now();
    return { decision: await folding.submit(laneOf(wish), { wish, now }, call.caller.deadlineAt), replayed: false };
  };
}

function only<Value, Code extends string>(decisions: readonly Decision<Value, Code>[]): Decision<Value, Code> {
  const [decision] = decisions;
  if (decision === undefined) throw new Error('a wish without an outcome');
  return decision;
}
