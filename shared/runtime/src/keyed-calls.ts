/**
 * Calls of one transaction, some of them under keys: each key has one outcome, which is that of an earlier call, or of the
 * first that has it here.
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

type Keys = Pick<Idempotency, 'reserveAll' | 'settlement' | 'releases'>;

export class KeyedCalls<Call extends MaybeKeyed> {
  readonly #calls: readonly Call[];
  readonly #keys: Keys;
  /** Without those whose key another one before them has. */
  readonly firsts: readonly Call[];
  #known = new Map<string, StoredOutcome | CallError>();

  constructor(keys: Keys, calls: readonly Call[]) {
    this.#keys = keys;
    this.#calls = calls;
    const seen = new Set<string>();
    this.firsts = calls.filter(({ scope }) => {
      if (scope === null) return true;
      const id = idempotencyId(scope);
      return !seen.has(id) && seen.add(id);
    });
  }

  /** Holds the keys; answers those that are to be made. A twin under way is waited for. */
  async reserve(transaction: SqlClient): Promise<readonly Call[]> {
    const scopes = this.firsts.flatMap(({ scope }) => (scope === null ? [] : [scope]));
    if (scopes.length === 0) return this.firsts;
    this.#known = await this.#keys.reserveAll(transaction, scopes);
    return this.firsts.filter(({ scope }) => scope === null || !this.#known.has(idempotencyId(scope)));
  }

  /** What keeps what came of those; a call error is no outcome, and lets go of its key. */
  settle(made: ReadonlyMap<Call, Decision<unknown, string> | CallError>): Statement[] {
    const keyed = [...made].filter((one): one is [Keyed<Call>, Decision<unknown, string> | CallError] =>
      isKeyed(one[0]),
    );
    const settled = keyed.flatMap(([{ scope }, outcome]) =>
      outcome instanceof CallError ? [] : [{ scope, decision: outcome }],
    );
    const released = keyed.flatMap(([{ scope }, outcome]) => (outcome instanceof CallError ? [scope] : []));
    for (const [{ scope }, outcome] of keyed) this.#known.set(idempotencyId(scope), asStored(scope, outcome));
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
    if (known instanceof CallError) return { rejected: known };
    if (known.argsHash !== scope?.argsHash) return { rejected: new CallError('IDEMPOTENCY_KEY_REUSED') };
    return { decision: known.decision as Decision<Value, Code>, replayed: true };
  }
}

function isKeyed<Call extends MaybeKeyed>(call: Call): call is Keyed<Call> {
  return call.scope !== null;
}

/** As whoever repeats the call reads it. */
function asStored(
  { argsHash }: IdempotencyScope,
  outcome: Decision<unknown, string> | CallError,
): StoredOutcome | CallError {
  if (outcome instanceof CallError) return outcome;
  return { argsHash, decision: JSON.parse(JSON.stringify(outcome)) as StoredOutcome['decision'] };
}
