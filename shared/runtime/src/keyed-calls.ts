/**
 * Calls of one transaction, some of them under keys: each key has one outcome, which is that of an earlier call, or of the
 * first here that comes to one.
 */
import { CallError } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { SqlClient } from './database.ts';
import { type Idempotency, idempotencyId, type Once, type StoredOutcome } from './idempotency.ts';
import type { Statement } from './transaction.ts';

interface MaybeKeyed {
  readonly scope: IdempotencyScope | null;
}

type Keyed<Call extends MaybeKeyed> = Call & { readonly scope: IdempotencyScope };

/** What came of one; a rejected one says what to throw, and the others of its transaction are unaffected. */
export type KeyedResult<Value, Code extends string> = Once<Value, Code> | { readonly rejected: CallError };

/** What came of a call that was made. */
type Made = Decision<unknown, string> | CallError;

type Keys = Pick<Idempotency, 'reserveAll' | 'settlement' | 'releases'>;

export class KeyedCalls<Call extends MaybeKeyed> {
  readonly #calls: readonly Call[];
  readonly #keys: Keys;
  /** What came of earlier calls, and of these once they are settled. */
  #known = new Map<string, StoredOutcome>();

  constructor(keys: Keys, calls: readonly Call[]) {
    this.#keys = keys;
    this.#calls = calls;
  }

  /** Holds the keys. A twin under way is waited for. */
  async reserve(transaction: SqlClient): Promise<void> {
    const scopes = this.#firsts().flatMap(({ scope }) => (scope === null ? [] : [scope]));
    if (scopes.length > 0) this.#known = await this.#keys.reserveAll(transaction, scopes);
  }

  /** Some have the outcome of an earlier call, of another transaction. */
  get hasKnown(): boolean {
    return this.#known.size > 0;
  }

  /** Those that are to be made, where each is sure to have an outcome. */
  fresh(): readonly Call[] {
    return this.#firsts().filter((call) => !this.#isKnown(call));
  }

  /** Makes those that are to be made, in their order: of one key also the next, when the one before came to a call error. */
  make<Outcome extends Made>(makeOne: (call: Call) => Outcome): Map<Call, Outcome> {
    const made = new Map<Call, Outcome>();
    const taken = new Set<string>();
    for (const call of this.#calls) {
      const id = idOf(call);
      if (this.#isKnown(call) || (id !== null && taken.has(id))) continue;
      const outcome = makeOne(call);
      made.set(call, outcome);
      if (id !== null && !(outcome instanceof CallError)) taken.add(id);
    }
    return made;
  }

  /** What keeps what came of those; a call error is no outcome, and lets go of its key. */
  settle(made: ReadonlyMap<Call, Made>): Statement[] {
    const keyed = [...made].filter((one): one is [Keyed<Call>, Made] => isKeyed(one[0]));
    const settled = keyed.flatMap(([{ scope }, outcome]) =>
      outcome instanceof CallError ? [] : [{ scope, decision: outcome }],
    );
    for (const { scope, decision } of settled) this.#known.set(idempotencyId(scope), asStored(scope, decision));
    const released = keyed.flatMap(([call]) => (this.#isKnown(call) ? [] : [call.scope]));
    return [
      ...(settled.length > 0 ? [this.#keys.settlement(settled)] : []),
      ...(released.length > 0 ? [this.#keys.releases(released)] : []),
    ];
  }

  /** In the order of the calls, after `settle`. */
  results<Value, Code extends string>(
    made: ReadonlyMap<Call, Decision<Value, Code> | CallError>,
  ): KeyedResult<Value, Code>[] {
    return this.#calls.map((call) => {
      const outcome = made.get(call);
      if (outcome === undefined) return this.#replayed(call);
      return outcome instanceof CallError ? { rejected: outcome } : { decision: outcome, replayed: false };
    });
  }

  #replayed<Value, Code extends string>({ scope }: Call): KeyedResult<Value, Code> {
    const known = scope === null ? undefined : this.#known.get(idempotencyId(scope));
    if (known === undefined) throw new Error('a call that was neither made nor known');
    if (known.argsHash !== scope?.argsHash) return { rejected: new CallError('IDEMPOTENCY_KEY_REUSED') };
    return { decision: known.decision as Decision<Value, Code>, replayed: true };
  }

  /** Without those whose key another one before them has. */
  #firsts(): readonly Call[] {
    const seen = new Set<string>();
    return this.#calls.filter((call) => {
      const id = idOf(call);
      return id === null || (!seen.has(id) && seen.add(id));
    });
  }

  #isKnown(call: Call): boolean {
    const id = idOf(call);
    return id !== null && this.#known.has(id);
  }
}

function idOf({ scope }: MaybeKeyed): string | null {
  return scope === null ? null : idempotencyId(scope);
}

function isKeyed<Call extends MaybeKeyed>(call: Call): call is Keyed<Call> {
  return call.scope !== null;
}

/** As whoever repeats the call reads it. */
function asStored({ argsHash }: IdempotencyScope, decision: Decision<unknown, string>): StoredOutcome {
  return { argsHash, decision: JSON.parse(JSON.stringify(decision)) as StoredOutcome['decision'] };
}
