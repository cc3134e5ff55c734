/** Changes of one kind that many ask for at once, in one transaction, each with an outcome of its own. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Clock } from './clock.ts';
import { createGroupCommit } from './group-commit.ts';
import type { Idempotency, Once } from './idempotency.ts';
import { KeyedCalls, type KeyedResult } from './keyed-calls.ts';
import type { ChangeCall, ChangeOptions, Unit } from './store.ts';

/** As that of a store, with whatever unit the service works with. */
export type Change<Work> = <Value, Code extends string = never>(
  call: ChangeCall,
  work: (unit: Work) => Promise<Decision<Value, Code>>,
  options?: Pick<ChangeOptions, 'readsFirst' | 'inTurnOf'>,
) => Promise<Once<Value, Code>>;

interface GroupedKind<Work, Wish, Value, Code extends string> {
  /** What is grouped together: wishes of one lane. */
  laneOf(wish: Wish): string;
  /** Effects and outcomes in the order of the wishes. A wish that is denied has no effect. */
  run(unit: Work, wishes: readonly Wish[]): Promise<readonly Decision<Value, Code>[]>;
  /** As that of a change; not so where keys come first. */
  readonly readsFirst?: boolean;
  /** Wishes of one transaction, where it is to be another number than that of every group. */
  readonly most?: number;
  /** With these, keyed calls are grouped as all others are: `run` may throw for none of its wishes alone. */
  readonly keys?: Pick<Idempotency, 'reserveAll' | 'settlement' | 'releases'>;
  /** Without keys a keyed call goes alone, and waits in the turn of this, as a change does. */
  turnOf?(wish: Wish): string;
}

type GroupedChange<Wish, Value, Code extends string> = (call: ChangeCall, wish: Wish) => Promise<Once<Value, Code>>;

type GroupedUnit = Pick<Unit, 'tx' | 'lastly'>;

interface Asked<Wish> {
  readonly wish: Wish;
  readonly now: number;
  readonly repeatable: boolean;
  readonly scope: IdempotencyScope | null;
}

/** The outcome of a keyed call is kept with its effect. */
export function createGroupedChange<Work extends GroupedUnit, Wish, Value, Code extends string>(
  change: Change<Work>,
  clock: Clock,
  kind: GroupedKind<Work, Wish, Value, Code>,
): GroupedChange<Wish, Value, Code> {
  const { laneOf, run, most, keys, turnOf, readsFirst = false } = kind;
  const group = createGroupCommit<Asked<Wish>, KeyedResult<Value, Code>>(
    clock,
    async (asked, deadlineAt) => {
      const call = {
        caller: { subject: {}, operator: false, deadlineAt },
        idempotency: null,
        now: Math.min(...asked.map(({ now }) => now)),
        repeatable: asked.some(({ repeatable }) => repeatable),
      };
      const hasKeys = asked.some(({ scope }) => scope !== null);
      const work = async (unit: Work) => allow(await runAll(unit, asked, kind));
      const options = { readsFirst: readsFirst && !hasKeys };
      const { decision } = await change<readonly KeyedResult<Value, Code>[]>(call, work, options);
      if (!decision.ok) throw new Error('outcomes of many were denied as one');
      return decision.value;
    },
    most,
  );
  return async (call, wish) => {
    const { idempotency: scope, now = clock.now(), repeatable = true } = call;
    if (scope !== null && keys === undefined) {
      const turn = turnOf === undefined ? {} : { inTurnOf: turnOf(wish) };
      return change<Value, Code>(call, async (unit) => only(await run(unit, [wish])), turn);
    }
    // What is late for one kind, because it may be at work elsewhere, is not for the other, which nobody sends again.
    const lane = `${laneOf(wish)} ${repeatable ? 'repeatable' : 'once'}`;
    const result = await group.submit(lane, { wish, now, repeatable, scope }, call.caller.deadlineAt);
    if ('rejected' in result) throw result.rejected;
    return result;
  };
}

function only<Outcome>([outcome]: readonly Outcome[]): Outcome {
  if (outcome === undefined) throw new Error('a wish without an outcome');
  return outcome;
}

/** A key that was used before, or by one before it in the same transaction, has the outcome that it had then. */
async function runAll<Work extends GroupedUnit, Wish, Value, Code extends string>(
  unit: Work,
  asked: readonly Asked<Wish>[],
  { run, keys }: Pick<GroupedKind<Work, Wish, Value, Code>, 'run' | 'keys'>,
): Promise<readonly KeyedResult<Value, Code>[]> {
  if (keys === undefined) {
    const decisions = await run(unit, wishesOf(asked));
    return decisions.map((decision) => ({ decision, replayed: false }));
  }
  const calls = new KeyedCalls(keys, asked);
  await calls.reserve(unit.tx);
  const fresh = calls.fresh();
  const decisions = fresh.length === 0 ? [] : await run(unit, wishesOf(fresh));
  const made = new Map(fresh.map((one, index) => [one, only(decisions.slice(index))]));
  for (const statement of calls.settle(made)) unit.lastly(statement);
  return calls.results(made);
}

function wishesOf<Wish>(asked: readonly Asked<Wish>[]): Wish[] {
  return asked.map(({ wish }) => wish);
}
