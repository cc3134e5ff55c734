/** Changes of one kind that many ask for at once, in one transaction, each with an outcome of its own. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Clock } from './clock.ts';
import { createGroupCommit } from './group-commit.ts';
import { type Idempotency, idempotencyId, type Once, type StoredOutcome } from './idempotency.ts';
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
  readonly keys?: Pick<Idempotency, 'reserveAll' | 'settlement'>;
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

/** What came of one; a rejected one says what to throw, and the others of its transaction are unaffected. */
type Result<Value, Code extends string> = Once<Value, Code> | { readonly rejected: CallError };

/** The outcome of a keyed call is kept with its effect. */
export function createGroupedChange<Work extends GroupedUnit, Wish, Value, Code extends string>(
  change: Change<Work>,
  clock: Clock,
  kind: GroupedKind<Work, Wish, Value, Code>,
): GroupedChange<Wish, Value, Code> {
  const { laneOf, run, most, keys, turnOf, readsFirst = false } = kind;
  const group = createGroupCommit<Asked<Wish>, Result<Value, Code>>(
    clock,
    async (asked, deadlineAt) => {
      const call = {
        caller: { subject: {}, operator: false, deadlineAt },
        idempotency: null,
        now: Math.min(...asked.map(({ now }) => now)),
        repeatable: asked.some(({ repeatable }) => repeatable),
      };
      const hasKeys = asked.some(isKeyed);
      const work = async (unit: Work) => allow(await runAll(unit, asked, kind));
      const options = { readsFirst: readsFirst && !hasKeys };
      const { decision } = await change<readonly Result<Value, Code>[]>(call, work, options);
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

type Keyed<Wish> = Asked<Wish> & { readonly scope: IdempotencyScope };

function isKeyed<Wish>(one: Asked<Wish>): one is Keyed<Wish> {
  return one.scope !== null;
}

/** A key that was used before, or by one before it in the same transaction, has the outcome that it had then. */
async function runAll<Work extends GroupedUnit, Wish, Value, Code extends string>(
  unit: Work,
  asked: readonly Asked<Wish>[],
  { run, keys }: Pick<GroupedKind<Work, Wish, Value, Code>, 'run' | 'keys'>,
): Promise<readonly Result<Value, Code>[]> {
  const firsts = new Map<string, Keyed<Wish>>();
  for (const one of asked) {
    if (isKeyed(one) && !firsts.has(idempotencyId(one.scope))) firsts.set(idempotencyId(one.scope), one);
  }
  if (keys === undefined || firsts.size === 0) {
    const decisions = await run(unit, wishesOf(asked));
    return decisions.map((decision) => ({ decision, replayed: false }));
  }
  const known = await keys.reserveAll(
    unit.tx,
    [...firsts.values()].map(({ scope }) => scope),
  );
  const isFresh = (one: Asked<Wish>): boolean =>
    !isKeyed(one) || (firsts.get(idempotencyId(one.scope)) === one && !known.has(idempotencyId(one.scope)));
  const fresh = asked.filter(isFresh);
  const decisions = fresh.length === 0 ? [] : await run(unit, wishesOf(fresh));
  const made = new Map(fresh.map((one, index) => [one, only(decisions.slice(index))]));
  const settled = [...made].flatMap(([{ scope }, decision]) => (scope === null ? [] : [{ scope, decision }]));
  if (settled.length > 0) unit.lastly(keys.settlement(settled));
  for (const { scope, decision } of settled) {
    known.set(idempotencyId(scope), { argsHash: scope.argsHash, decision: asStored(decision) });
  }
  return asked.map((one) => {
    const decision = made.get(one);
    return decision === undefined ? replayOf(one, known) : { decision, replayed: false };
  });
}

function wishesOf<Wish>(asked: readonly Asked<Wish>[]): Wish[] {
  return asked.map(({ wish }) => wish);
}

/** As whoever repeats the call reads it. */
function asStored(decision: Decision<unknown, string>): StoredOutcome['decision'] {
  return JSON.parse(JSON.stringify(decision)) as StoredOutcome['decision'];
}

function replayOf<Value, Code extends string>(
  { scope }: Asked<unknown>,
  known: ReadonlyMap<string, StoredOutcome>,
): Result<Value, Code> {
  const stored = scope === null ? undefined : known.get(idempotencyId(scope));
  if (stored === undefined) throw new Error('a wish that was neither made nor known');
  if (stored.argsHash !== scope?.argsHash) return { rejected: new CallError('IDEMPOTENCY_KEY_REUSED') };
  return { decision: stored.decision as Decision<Value, Code>, replayed: true };
}
