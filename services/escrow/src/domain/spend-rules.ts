/** Money that moves at once: debits, draws from pools, refunds. */
import { allow, deny, type Denial } from '@svc/contract/decision.ts';
import { available, credits, isSink, openedAccount } from './account.ts';
import type { Book, Effects, PaidEntry, UsedReference } from './book.ts';
import { enter, type EntryDraft } from './entry.ts';
import {
  decideDrawFunds,
  decideFunds,
  type DrawCode,
  effectsOf,
  frozen,
  type Funds,
  type FundsCode,
  type Payer,
  readFunds,
  spend,
} from './funds.ts';
import type { Ruling } from './hold-rules.ts';
import { countDraw, memberAvailable } from './member.ts';

export interface Reference {
  readonly ref: string;
  readonly bodyHash: string;
}

/** The first answer again, a denial when the reference stands for something else, null when it is new. */
export function replayOf(
  used: UsedReference | null,
  bodyHash: string,
): Ruling<Readonly<Record<string, unknown>>, 'E_REF_REUSED'> | null {
  if (used === null) return null;
  if (used.bodyHash !== bodyHash || used.answer === null) return deny('E_REF_REUSED');
  return allow({ answer: { ...used.answer, replay: true }, effects: {} });
}

interface SpendWish {
  readonly amount: bigint;
  readonly payee: string;
  readonly by: string;
  readonly memo: string | null;
  readonly entryId: string;
}

export interface DebitWish extends SpendWish {
  readonly payer: Payer;
  /** Limit with which the payee opens if it does not exist. */
  readonly payeeOpensWith: bigint;
  readonly reference: Reference | null;
}

interface DebitAnswer {
  readonly entryId: string;
  readonly available: number;
}

/** What was paid under the reference; null = nothing yet. */
export function decideDebited(book: Book, { ref, bodyHash }: Reference): Ruling<DebitAnswer, 'E_REF_REUSED'> | null {
  return replayOf(book.reference('spend', ref), bodyHash) as Ruling<DebitAnswer, 'E_REF_REUSED'> | null;
}

export function decideDebit(book: Book, wish: DebitWish): Ruling<DebitAnswer, FundsCode | 'E_REF_REUSED'> {
  const { payer, amount, reference, entryId } = wish;
  const replay = reference === null ? null : decideDebited(book, reference);
  if (replay !== null) return replay;
  const funds = decideFunds(book, payer, amount);
  if (!funds.ok) return funds;
  if (book.account(wish.payee)?.frozen === true) return frozen();
  const spent = spend(funds.value, amount);
  const { account, member } = spent;
  const left = member === null ? available(account) : memberAvailable(member, account);
  const answer = { entryId, available: credits(left) };
  return allow({ answer, effects: spendEffects(book, { ...wish, answer: { ...answer } }, spent) });
}

/** A draw from a pool by a tool; it is repeated under its idempotency key. */
export interface DrawWish extends SpendWish {
  readonly workspaceId: string;
  readonly member: string;
  /** Draws of one member a minute; 0 = any number. */
  readonly drawsPerMinute: number;
}

interface DrawAnswer extends DebitAnswer {
  readonly spent: number;
  readonly poolSpent: number;
  readonly poolAvailable: number;
}

export function decideDraw(book: Book, wish: DrawWish): Ruling<DrawAnswer, DrawCode | 'E_RUNAWAY'> {
  const { workspaceId, member: agentId, amount, entryId, drawsPerMinute } = wish;
  const funds = decideDrawFunds(book, workspaceId, agentId, amount);
  if (!funds.ok) return funds;
  const counted = countDraw(funds.value.member, book.now, drawsPerMinute);
  if (counted === null) return deny('E_RUNAWAY', { reason: 'runaway' });
  const spent = spend({ ...funds.value, member: counted }, amount);
  const { account } = spent;
  const member = { ...counted, spent: counted.spent + amount };
  return allow({
    answer: {
      entryId,
      available: credits(memberAvailable(member, account)),
      spent: credits(member.spent),
      poolSpent: credits(account.spent),
      poolAvailable: credits(available(account)),
    },
    effects: spendEffects(book, { ...wish, payeeOpensWith: 0n, reference: null, answer: null }, { account, member }),
  });
}

type Spending = SpendWish & Pick<DebitWish, 'payeeOpensWith' | 'reference'> & { readonly answer: EntryDraft['answer'] };

/** `spent`: the payer as it is afterwards. */
function spendEffects(book: Book, wish: Spending, spent: Funds): Effects {
  const { amount, payee, by, memo, entryId, reference, answer } = wish;
  const agentId = spent.member?.agentId ?? null;
  const draft: EntryDraft = {
    entryId,
    kind: 'spend',
    by,
    amount,
    memo,
    payee,
    member: agentId,
    ...(reference === null ? {} : { ...reference, answer: answer ?? null }),
  };
  const { account, entry } = enter(spent.account, draft, book.now);
  const effects = effectsOf({ ...spent, account });
  const earning =
    payee === account.accountId ? account : (book.account(payee) ?? openedAccount(payee, wish.payeeOpensWith));
  const earned = isSink(payee) ? [] : [{ ...earning, earned: earning.earned + amount }];
  const member = agentId === null ? {} : { member: agentId };
  return {
    ...effects,
    accounts: [...effects.accounts, ...earned],
    entries: [entry],
    facts: [{ event: 'escrow:spent', account: account.accountId, entryId, amount, payee, ...member }],
  };
}

export interface RefundWish extends Reference {
  readonly entryId: string;
  /** Null = what is left of it. */
  readonly amount: bigint | null;
  readonly by: string;
  readonly refundEntryId: string;
}

type RefundCode = 'E_ENTRY_ABSENT' | 'E_REFUNDED' | 'E_BUDGET' | 'E_REF_REUSED' | 'E_LEDGER_FROZEN';

export function decideRefund(book: Book, wish: RefundWish): Ruling<{ entryId: string }, RefundCode> {
  const replay = replayOf(book.reference('refund', wish.ref), wish.bodyHash);
  if (replay !== null) return replay as Ruling<{ entryId: string }, RefundCode>;
  const paid = book.paid(wish.entryId);
  if (paid === null || paid.payee === null || (paid.kind !== 'spend' && paid.kind !== 'capture'))
    return deny('E_ENTRY_ABSENT');
  const left = paid.amount - paid.refunded;
  const amount = wish.amount ?? left;
  if (amount > left || left === 0n) return deny('E_REFUNDED', { left: credits(left) });
  const payer = readFunds(book, { account: paid.account, member: paid.member, opensWith: null });
  if (payer === null) throw new Error(`entry ${paid.entryId} was paid by nobody`);
  if (payer.account.frozen) return frozen();
  return refund(book, wish, { paid, payer, amount, payee: paid.payee });
}

interface Refund {
  readonly paid: PaidEntry;
  readonly payer: Funds;
  readonly amount: bigint;
  readonly payee: string;
}

function refund(
  book: Book,
  wish: RefundWish,
  { paid, payer, amount, payee }: Refund,
): Ruling<{ entryId: string }, RefundCode> {
  const answer = { entryId: wish.refundEntryId };
  const draft: EntryDraft = {
    entryId: wish.refundEntryId,
    kind: 'refund',
    by: wish.by,
    amount,
    ref: wish.ref,
    bodyHash: wish.bodyHash,
    answer,
    member: paid.member,
    payee,
    refundOf: paid.entryId,
  };
  const back = spend(payer, -amount);
  const { account, entry } = enter(back.account, draft, book.now);
  const effects = effectsOf({ ...back, account });
  const payees = givenBack(book, payee, account.accountId === payee ? account : null, amount);
  if (!payees.ok) return payees;
  return allow({
    answer,
    effects: {
      ...effects,
      accounts: [...effects.accounts, ...payees.value],
      entries: [entry],
      facts: [{ event: 'escrow:refunded', account: account.accountId, payee, entryId: wish.refundEntryId, amount }],
    },
  });
}

function givenBack(
  book: Book,
  payee: string,
  self: Funds['account'] | null,
  amount: bigint,
): { ok: true; value: Funds['account'][] } | Denial<'E_BUDGET' | 'E_LEDGER_FROZEN'> {
  if (isSink(payee)) return allow([]);
  const earned = self ?? book.account(payee);
  if (earned === null) throw new Error(`${payee} was paid and does not exist`);
  if (earned.frozen) return frozen();
  const left = available(earned);
  if (earned.earned < amount || left < amount)
    return deny('E_BUDGET', { reason: 'budget_exceeded', available: credits(left) });
  return allow([{ ...earned, earned: earned.earned - amount }]);
}
