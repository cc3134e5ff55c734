/** Everything that changes the ledger. Each method is one unit of work: durable when it resolves, or nothing happened. */
import type { RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Denial } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { writeAudit } from '@svc/runtime/audit.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { withPgTransaction } from '@svc/runtime/transaction.ts';
import { poolOf, workspaceOfAccount } from '../domain/account.ts';
import type { Payer } from '../domain/funds.ts';
import type { HoldName, OwnerKind } from '../domain/hold.ts';
import {
  type CaptureWish,
  decideCapture,
  decideHold,
  decideRelease,
  decideVoid,
  type HoldWish,
  type ReleaseWish,
  type VoidWish,
} from '../domain/hold-rules.ts';
import {
  decideLimit,
  decideMemberLimit,
  decideOpen,
  type LimitWish,
  type MemberLimitWish,
  type OpenWish,
} from '../domain/limit-rules.ts';
import {
  decideDebit,
  decideDebited,
  decideDraw,
  decideRefund,
  type DebitWish,
  type DrawWish,
  type Reference,
  type RefundWish,
} from '../domain/spend-rules.ts';
import { judgeGroup, type JudgedGroup } from './group-commit.ts';
import { createLedgerWriter, type LedgerWriter } from './ledger-writer.ts';
import type { Move, MoveCall, Needs, Outcome } from './move.ts';
import { auditEntriesOf, eventsOf } from './ledger-events.ts';
import { writeChanges } from './write.ts';

/** Wishes without the ids that the store gives. */
type Named<Wish> = Omit<Wish, 'entryId'>;

/** Transactions at once where others write too; an exclusive database has one connection for all. */
const LANES = 2;

export class LedgerStore {
  readonly #writer: LedgerWriter;
  readonly #ids: Ids;

  constructor(
    base: Pick<ServiceStore, 'pool' | 'schema' | 'outbox' | 'audit' | 'idempotency'>,
    platform: Pick<Platform, 'database' | 'clock' | 'ids'>,
  ) {
    const { clock, ids, database } = platform;
    this.#ids = ids;
    this.#writer = createLedgerWriter({
      lanes: database.exclusive ? 1 : LANES,
      clock,
      commit: (moves, deadlineAt) => commit(base, { ids, clock }, moves, deadlineAt),
    });
  }

  placeHold<Kind extends OwnerKind>(call: MoveCall, wish: HoldWish<Kind>) {
    const needs = {
      ...payerNeeds(wish.payer),
      holds: [wish],
      ...(wish.ownerKind === 'caller' ? { owner: wish.owner } : {}),
    };
    return this.#submit(call, needs, (book) => decideHold(book, wish));
  }

  capture(call: MoveCall, wish: Named<CaptureWish>) {
    const named = { ...wish, entryId: this.#ids.next('ent') };
    const needs = { holds: [ofService(wish)], accounts: [wish.payee] };
    return this.#submit(call, needs, (book) => decideCapture(book, named));
  }

  voidHold(call: MoveCall, wish: VoidWish) {
    return this.#submit(call, { holds: [ofService(wish)] }, (book) => decideVoid(book, wish));
  }

  release(call: MoveCall, wish: ReleaseWish) {
    const { holdId, owner } = wish;
    const needs = owner === null ? { holdIds: [holdId] } : { holds: [{ holdId, ownerKind: 'caller' as const, owner }] };
    return this.#submit(call, needs, (book) => decideRelease(book, wish));
  }

  debit(call: MoveCall, wish: Named<DebitWish>) {
    const named = { ...wish, entryId: this.#ids.next('ent') };
    const { accounts = [], ...rest } = payerNeeds(wish.payer);
    const references = wish.reference === null ? [] : [{ kind: 'spend' as const, ref: wish.reference.ref }];
    const needs = { ...rest, accounts: [...accounts, wish.payee], references };
    return this.#submit(call, needs, (book) => decideDebit(book, named));
  }

  /** Whoever may not pay any more is answered as before about what was paid. */
  denyDebit(call: MoveCall, reference: Reference, denial: Denial<'E_UNKNOWN_WORKSPACE' | 'E_POOL_EXCEEDED'>) {
    const references = [{ kind: 'spend' as const, ref: reference.ref }];
    return this.#submit(call, { references }, (book) => decideDebited(book, reference) ?? denial);
  }

  /** Denied already, nothing is moved: a keyed call stays refused, and one that was done is answered as it was then. */
  draw(call: MoveCall, denied: Denial<'E_UNKNOWN_WORKSPACE'> | null, wish: Named<DrawWish>) {
    const named = { ...wish, entryId: this.#ids.next('ent') };
    const { workspaceId, member: agentId, payee } = wish;
    const needs = { accounts: [poolOf(workspaceId), payee], members: [{ workspaceId, agentId }] };
    return this.#submit(call, denied === null ? needs : {}, (book) => denied ?? decideDraw(book, named));
  }

  refund(call: MoveCall, wish: Omit<RefundWish, 'refundEntryId'>) {
    const named = { ...wish, refundEntryId: this.#ids.next('ent') };
    const needs = { paid: [wish.entryId], references: [{ kind: 'refund' as const, ref: wish.ref }] };
    return this.#submit(call, needs, (book) => decideRefund(book, named));
  }

  setLimit(call: MoveCall, wish: Named<LimitWish>) {
    const named = { ...wish, entryId: this.#ids.next('ent') };
    return this.#submit(call, { accounts: [wish.account] }, (book) => decideLimit(book, named));
  }

  setMemberLimit(call: MoveCall, wish: Named<MemberLimitWish>) {
    const named = { ...wish, entryId: this.#ids.next('ent') };
    const { workspaceId, agentId } = wish;
    const needs = { accounts: [poolOf(workspaceId)], members: [{ workspaceId, agentId }] };
    return this.#submit(call, needs, (book) => decideMemberLimit(book, named));
  }

  open(call: MoveCall, wish: Named<OpenWish>) {
    const named = { ...wish, entryId: this.#ids.next('ent') };
    const needs = { accounts: [wish.account], references: [{ kind: 'limit' as const, ref: wish.ref }] };
    return this.#submit(call, needs, (book) => decideOpen(book, named));
  }

  /** Closes what is past its time on the accounts, and the records among the holds that belong to none. */
  async expire(call: MoveCall, needs: Required<Pick<Needs, 'accounts' | 'holds'>>): Promise<void> {
    await this.#submit(call, needs, () => allow({ answer: null, effects: {} }));
  }

  /** Resolves when nothing waits any more. */
  drain(): Promise<void> {
    return this.#writer.drain();
  }

  #submit<Answer, Code extends RefusalCode>(
    call: MoveCall,
    needs: Needs,
    decide: Move<Answer, Code>['decide'],
  ): Promise<Outcome<Answer, Code>> {
    return this.#writer.submit({ call, needs, decide });
  }
}

function ofService({ holdId, owner }: VoidWish): HoldName {
  return { holdId, ownerKind: 'service', owner };
}

function payerNeeds(payer: Payer | null): Needs {
  if (payer === null) return {};
  const workspaceId = workspaceOfAccount(payer.account);
  const members = workspaceId === null || payer.member === null ? [] : [{ workspaceId, agentId: payer.member }];
  return { accounts: [payer.account], members };
}

async function commit(
  {
    pool,
    schema,
    outbox,
    audit,
    idempotency,
  }: Pick<ServiceStore, 'pool' | 'schema' | 'outbox' | 'audit' | 'idempotency'>,
  { ids, clock }: Pick<Platform, 'ids' | 'clock'>,
  moves: readonly Move[],
  deadlineAt: number,
): Promise<JudgedGroup['results']> {
  const { results, told, entries } = await withPgTransaction(
    pool,
    async (tx) => {
      const folded = await judgeGroup(tx, idempotency, moves);
      const entries = auditEntriesOf(folded.told);
      await Promise.all([
        writeChanges(tx, folded.changes, folded.writing),
        outbox.write(tx, eventsOf(folded.told)),
        writeAudit(tx, schema, ids, entries),
      ]);
      return { ...folded, entries };
    },
    { deadlineAt, clock, readsFirst: true },
  );
  if (told.length > 0) outbox.kick();
  if (entries.length > 0) audit.kick();
  return results;
}
