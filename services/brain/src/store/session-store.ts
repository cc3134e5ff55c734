/** Session pointers, kept in the database: one lost at a restart would send the next write to the wrong place. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Idempotency, Once } from '@svc/runtime/idempotency.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { freshPointer, type Pointer } from '../domain/stack.ts';
import { moveOf } from '../relations/domain/synapse.ts';
import { noteMove } from '../relations/synapses.ts';

interface SessionStoreOptions {
  readonly client: SqlClient;
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
  readonly idempotency: Idempotency;
  readonly defaultBrain: string;
  /** True when no other process uses the database: then a pointer once read is not asked for again. */
  readonly exclusive: boolean;
}

const SELECT = 'SELECT stack, branches FROM brain.brain_sessions WHERE session_key = $1';
const LOCK = `SELECT stack, branches, ${epochMs('clock_timestamp() - touched_at')} AS "idleMs"
  FROM brain.brain_sessions WHERE session_key = $1 FOR UPDATE`;
/** For whom it is learned to which brain a session goes after which. */
interface Learner {
  readonly workspace: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const CACHED_SESSIONS = 10_000;

export class SessionStore {
  readonly #options: SessionStoreOptions;
  readonly #cache = new Map<string, Pointer>();
  #age = 0;

  constructor(options: SessionStoreOptions) {
    this.#options = options;
  }

  async read(session: string): Promise<Pointer> {
    const known = this.#cache.get(session);
    if (known) return known;
    const under = this.#age;
    const pointer = await this.#load(session);
    if (under === this.#age) this.#remember(session, pointer);
    return pointer;
  }

  /** After the rows were changed by somebody else: what is remembered, or is being read now, counts no more. */
  forget(): void {
    this.#age += 1;
    this.#cache.clear();
  }

  /** Judges and stores a new pointer in one transaction; a denial leaves the old one. */
  async change<Value, Code extends string = never>(
    session: string,
    scope: IdempotencyScope | null,
    decide: (pointer: Pointer) => Decision<{ pointer: Pointer; value: Value }, Code>,
    learner: Learner | null = null,
  ): Promise<Once<Value, Code>> {
    const { transact, idempotency } = this.#options;
    const changed: Pointer[] = [];
    const under = this.#age;
    const outcome = await transact((transaction) =>
      idempotency.once<Value, Code>(transaction, scope, async () => {
        const { idleMs, ...before } = await this.#lock(transaction, session);
        const decision = decide(before);
        if (!decision.ok) return decision;
        const { pointer, value } = decision.value;
        await transaction.$executeRawUnsafe(
          `UPDATE brain.brain_sessions SET stack = $2::jsonb, branches = $3::jsonb, touched_at = now()
           WHERE session_key = $1`,
          session,
          JSON.stringify(pointer.stack),
          JSON.stringify(pointer.branches),
        );
        const move = learner === null ? null : moveOf(before, pointer, idleMs);
        if (learner !== null && move !== null) await noteMove(transaction, learner.workspace, move, learner.now);
        changed.push(pointer);
        return allow(value);
      }),
    ).catch((error: unknown) => {
      // A COMMIT that nobody answered may have been made all the same.
      if (changed.length > 0) this.forget();
      throw error;
    });
    for (const pointer of changed) if (under === this.#age) this.#remember(session, pointer);
    return outcome;
  }

  /** Deletes pointers idle for too long; returns how many. */
  sweep(keptDays: number): Promise<number> {
    return this.#options.client.$executeRawUnsafe(
      'DELETE FROM brain.brain_sessions WHERE touched_at < now() - make_interval(days => $1::int)',
      keptDays,
    );
  }

  /** The row must exist to be locked: two changes of one session follow each other. */
  async #lock(transaction: SqlClient, session: string): Promise<Pointer & { readonly idleMs: number }> {
    const fresh = freshPointer(this.#options.defaultBrain);
    await transaction.$executeRawUnsafe(
      `INSERT INTO brain.brain_sessions (session_key, stack, branches, touched_at)
       VALUES ($1, $2::jsonb, '{}'::jsonb, now()) ON CONFLICT DO NOTHING`,
      session,
      JSON.stringify(fresh.stack),
    );
    const rows = await transaction.$queryRawUnsafe<(Pointer & { idleMs: number })[]>(LOCK, session);
    return rows[0] ?? { ...fresh, idleMs: 0 };
  }

  async #load(session: string): Promise<Pointer> {
    const rows = await this.#options.client.$queryRawUnsafe<Pointer[]>(SELECT, session);
    return rows[0] ?? freshPointer(this.#options.defaultBrain);
  }

  #remember(session: string, pointer: Pointer): void {
    if (!this.#options.exclusive) return;
    if (this.#cache.size >= CACHED_SESSIONS) this.#cache.clear();
    this.#cache.set(session, pointer);
  }
}
