/**
 * Many requests in one transaction: the rows of all are locked and read once, the rules judge one request after the other
 * on them, and what came of it can be written at once. Each request has the answer it would have had alone, in this order.
 */
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import type { AuditSubject } from '@svc/runtime/audit.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Idempotency, idempotencyId, type StoredOutcome } from '@svc/runtime/idempotency.ts';
import type { Book, Changes, Effects, Fact } from '../domain/book.ts';
import { expire } from '../domain/hold-rules.ts';
import { openBook } from './load.ts';
import type { Move, Outcome } from './move.ts';
import type { KeyedOutcome, WriteOptions } from './write.ts';

/** What happened, and who caused it. */
export interface Told {
  readonly fact: Fact;
  readonly subject: AuditSubject;
}

/** A rejected request says what to throw; the others of its transaction are unaffected. */
export type Result = Outcome | { readonly rejected: CallError };

export interface JudgedGroup {
  /** In the order of the requests. */
  readonly results: readonly Result[];
  readonly told: readonly Told[];
  readonly changes: Changes;
  readonly writing: WriteOptions;
}

const BY_ITSELF: AuditSubject = { verified: false };

export async function judgeGroup(
  tx: SqlClient,
  idempotency: Pick<Idempotency, 'findAll'>,
  moves: readonly Move[],
): Promise<JudgedGroup> {
  // A twin that is not committed yet is met when the outcomes are written: then all of this starts again.
  const outcomes = await idempotency.findAll(
    tx,
    moves.flatMap(({ call }) => call.idempotency ?? []),
  );
  const fresh = moves.filter((move) => !outcomes.has(keyOf(move)));
  const book = await openBook(
    tx,
    fresh.map(({ needs }) => needs),
  );
  const told: Told[] = [];
  const openers = new Map<string, string>();
  const commit = (effects: Effects, subject: AuditSubject): void => {
    for (const account of effects.accounts ?? []) {
      if (account.version === 0n && !openers.has(account.accountId)) openers.set(account.accountId, nameOf(subject));
    }
    book.apply(effects);
    told.push(...(effects.facts ?? []).map((fact) => ({ fact, subject })));
  };
  for (const hold of book.dueHolds()) {
    const effects = expire(book, hold);
    if (effects !== null) commit(effects, BY_ITSELF);
  }
  const keyed: KeyedOutcome[] = [];
  const results = moves.map((move) => {
    const known = outcomes.get(keyOf(move));
    if (known !== undefined) return replayed(move, known);
    const decision = judged(book, move, commit);
    const stored = keep(move, decision);
    if (stored !== null) {
      keyed.push(stored);
      outcomes.set(keyOf(move), { argsHash: stored.argsHash, decision: JSON.parse(stored.outcome) as StoredDecision });
    }
    return { decision, replayed: false };
  });
  return { results, told, changes: book.changes(), writing: { now: book.now, openers, keyed } };
}

type StoredDecision = Decision<unknown, RefusalCode>;

function nameOf({ agentId, userId, operator }: AuditSubject): string {
  return agentId ?? userId ?? (operator === true ? 'operator' : 'service');
}

function judged(
  book: Book,
  move: Move,
  commit: (effects: Effects, subject: AuditSubject) => void,
): Decision<unknown, RefusalCode> {
  const ruling = move.decide(book);
  if (!ruling.ok) return ruling;
  commit(ruling.value.effects, move.call.subject);
  return { ok: true, value: ruling.value.answer };
}

/** Requests without a key are each their own. */
function keyOf({ call: { idempotency } }: Move): string {
  return idempotency === null ? '' : idempotencyId(idempotency);
}

function keep({ call: { idempotency } }: Move, decision: StoredDecision): KeyedOutcome | null {
  return idempotency === null ? null : { ...idempotency, outcome: JSON.stringify(decision) };
}

function replayed({ call: { idempotency } }: Move, { argsHash, decision }: StoredOutcome): Result {
  if (idempotency?.argsHash !== argsHash) return { rejected: new CallError('IDEMPOTENCY_KEY_REUSED') };
  return { decision, replayed: true };
}
