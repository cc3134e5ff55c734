/** What becomes of holds: placed, captured, voided, released, expired. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { credits, isSink, openedAccount } from './account.ts';
import type { Book, Effects, Fact, LedgerEvent } from './book.ts';
import { enter } from './entry.ts';
import {
  decideFunds,
  effectsOf,
  frozen,
  type Funds,
  type FundsCode,
  type Payer,
  readFunds,
  reserve,
  spend,
} from './funds.ts';
import { closeHold, type Hold, isDue, MAX_HOLDS, type OwnerKind } from './hold.ts';

/** A decision with what it changes and what the caller is told. */
export type Ruling<Answer, Code extends string> = Decision<
  { readonly answer: Answer; readonly effects: Effects },
  Code
>;

export interface HoldWish<Kind extends OwnerKind = OwnerKind> {
  readonly holdId: string;
  /** Null = a record only, as with an amount of 0. */
  readonly payer: Payer | null;
  readonly amount: bigint;
  readonly condition: Readonly<Record<string, unknown>> | null;
  readonly ttlMs: number;
  /** After it nothing is placed, ms since the epoch; null = whenever it comes. */
  readonly deadlineAt: number | null;
  readonly ownerKind: Kind;
  readonly owner: string;
  /** Of a service: what tells a repetition from another wish. */
  readonly bodyHash: string | null;
}

interface HeldAnswer {
  readonly held: true;
  readonly holdId: string;
  readonly expiresAt: number;
  readonly reserved: number;
  readonly replay?: true;
}

function factOf(event: LedgerEvent, hold: Hold, amount: bigint): Fact {
  const { account, member, holdId, owner } = hold;
  return { event, account, holdId, amount, owner, ...(member === null ? {} : { member }) };
}

/** The id of a caller is free again when its hold is closed, that of a service is used once for ever. */
type HoldCode<Kind extends OwnerKind> =
  | FundsCode
  | 'E_HOLD_EXISTS'
  | (Kind extends 'caller' ? 'E_HOLD_LIMIT' : 'E_HOLD_CLOSED' | 'E_HOLD_EXPIRED');

export function decideHold<Kind extends OwnerKind>(
  book: Book,
  wish: HoldWish<Kind>,
): Ruling<HeldAnswer, HoldCode<Kind>> {
  const decide: (book: Book, wish: HoldWish) => Ruling<HeldAnswer, HoldCode<OwnerKind>> =
    wish.ownerKind === 'caller' ? decideHoldOfCaller : decideHoldOfService;
  return decide(book, wish) as Ruling<HeldAnswer, HoldCode<Kind>>;
}

function decideHoldOfCaller(book: Book, wish: HoldWish): Ruling<HeldAnswer, HoldCode<'caller'>> {
  if (book.hold(wish) !== null) return deny('E_HOLD_EXISTS', { reason: 'hold_exists' });
  if (book.liveHolds(wish.owner) >= MAX_HOLDS) return deny('E_HOLD_LIMIT', { reason: 'max_holds_exceeded' });
  return placed(book, wish);
}

function decideHoldOfService(book: Book, wish: HoldWish): Ruling<HeldAnswer, HoldCode<'service'>> {
  const earlier = book.hold(wish);
  if (earlier === null) return isLate(book, wish) ? deny('E_HOLD_EXPIRED', { reason: 'deadline' }) : placed(book, wish);
  if (earlier.state !== 'held') return deny('E_HOLD_CLOSED', { state: earlier.state });
  const isSame = earlier.owner === wish.owner && earlier.bodyHash === wish.bodyHash;
  if (!isSame) return deny('E_HOLD_EXISTS', { reason: 'hold_exists' });
  return allow({ answer: { ...heldAnswer(earlier), replay: true }, effects: {} });
}

function isLate({ now }: Book, { deadlineAt }: HoldWish): boolean {
  return deadlineAt !== null && deadlineAt <= now;
}

function placed(book: Book, wish: HoldWish): Ruling<HeldAnswer, FundsCode> {
  const { payer, amount } = wish;
  const reserves = payer !== null && amount > 0n;
  const funds = reserves ? decideFunds(book, payer, amount) : allow(null);
  if (!funds.ok) return funds;
  const hold = newHold(book, { ...wish, amount: reserves ? amount : 0n });
  const reserved = funds.value === null ? {} : effectsOf(reserve(funds.value, amount));
  return allow({
    answer: heldAnswer(hold),
    effects: { ...reserved, holds: [hold], facts: [factOf('escrow:held', hold, hold.amount)] },
  });
}

function newHold(book: Book, wish: HoldWish): Hold {
  const { holdId, payer, amount, condition, ttlMs, ownerKind, owner, bodyHash } = wish;
  return {
    seq: book.newSeq(),
    holdId,
    account: payer?.account ?? null,
    member: payer?.member ?? null,
    amount,
    condition,
    state: 'held',
    ownerKind,
    owner,
    bodyHash,
    heldAt: book.now,
    expiresAt: book.now + ttlMs,
    closedAt: null,
    closedBy: null,
    captured: null,
    payee: null,
    entryId: null,
  };
}

function heldAnswer({ holdId, expiresAt, amount }: Hold): HeldAnswer {
  return { held: true, holdId, expiresAt, reserved: credits(amount) };
}

/** The reservation given back; the hold itself is closed by the caller. Null = its account is frozen. */
function freed(book: Book, hold: Hold): Funds | 'frozen' | null {
  if (hold.account === null || hold.amount === 0n) return null;
  const funds = readFunds(book, { account: hold.account, member: hold.member, opensWith: null });
  if (funds === null) throw new Error(`hold ${hold.holdId} reserves from an account that does not exist`);
  return funds.account.frozen ? 'frozen' : reserve(funds, -hold.amount);
}

/** What is past its time; a frozen account keeps what it has. */
export function expire(book: Book, hold: Hold): Effects | null {
  const expired = isDue(hold, book.now) ? closeHold(hold, 'expired', { at: book.now, by: 'deadline' }) : null;
  if (expired === null) return null;
  const funds = freed(book, hold);
  if (funds === 'frozen') return null;
  return {
    ...(funds === null ? {} : effectsOf(funds)),
    holds: [expired],
    facts: [factOf('escrow:expired', hold, hold.amount)],
  };
}

export interface CaptureWish {
  readonly holdId: string;
  /** Service that captures. */
  readonly owner: string;
  /** Null = all of it. */
  readonly amount: bigint | null;
  readonly payee: string;
  /** Limit with which the payee opens if it does not exist. */
  readonly payeeOpensWith: bigint;
  readonly entryId: string;
}

interface CapturedAnswer {
  readonly captured: true;
  readonly entryId: string | null;
  readonly amount: number;
  readonly replay?: true;
}

type CaptureCode = 'E_HOLD_ABSENT' | 'E_HOLD_EXPIRED' | 'E_HOLD_CLOSED' | 'E_AMOUNT' | 'E_LEDGER_FROZEN';

export function decideCapture(book: Book, wish: CaptureWish): Ruling<CapturedAnswer, CaptureCode> {
  const hold = book.hold({ ...wish, ownerKind: 'service' });
  if (hold === null || hold.owner !== wish.owner) return deny('E_HOLD_ABSENT');
  const amount = wish.amount ?? hold.amount;
  if (hold.state !== 'held') return decideCapturedAlready(hold, amount, wish.payee);
  if (isDue(hold, book.now)) return deny('E_HOLD_EXPIRED');
  if (amount > hold.amount) return deny('E_AMOUNT', { held: credits(hold.amount) });
  const funds = freed(book, hold);
  if (funds === 'frozen' || book.account(wish.payee)?.frozen === true) return frozen();
  return capture(book, wish, { hold, amount, funds });
}

interface Capture {
  readonly hold: Hold;
  readonly amount: bigint;
  /** Of the payer, the reservation given back already; null = nothing was reserved. */
  readonly funds: Funds | null;
}

function capture(book: Book, wish: CaptureWish, { hold, amount, funds }: Capture): Ruling<CapturedAnswer, never> {
  const { payee, owner } = wish;
  const isPaid = funds !== null && amount > 0n;
  const entryId = isPaid ? wish.entryId : null;
  const posted = closeHold(hold, 'posted', { at: book.now, by: owner, captured: amount, payee, entryId });
  if (posted === null) throw new Error('a held hold closes');
  const unpaid = funds === null ? {} : effectsOf(funds);
  return allow({
    answer: { captured: true, entryId, amount: credits(amount) },
    effects: {
      ...(isPaid ? pay(book, funds, hold, wish, amount) : unpaid),
      holds: [posted],
      facts: [{ ...factOf('escrow:posted', hold, amount), ...(entryId === null ? {} : { entryId, payee }) }],
    },
  });
}

function decideCapturedAlready(hold: Hold, amount: bigint, payee: string): Ruling<CapturedAnswer, CaptureCode> {
  if (hold.state === 'expired') return deny('E_HOLD_EXPIRED');
  if (hold.state !== 'posted' || hold.captured !== amount || hold.payee !== payee) {
    return deny('E_HOLD_CLOSED', { state: hold.state });
  }
  const answer = { captured: true, entryId: hold.entryId, amount: credits(amount), replay: true } as const;
  return allow({ answer, effects: {} });
}

function pay(book: Book, funds: Funds, hold: Hold, wish: CaptureWish, amount: bigint): Effects {
  const { payee, payeeOpensWith, entryId, owner } = wish;
  const draft = { entryId, kind: 'capture', by: owner, amount, ref: hold.holdId, member: hold.member, payee } as const;
  const paid = spend(funds, amount);
  const { account, entry } = enter(paid.account, draft, book.now);
  const effects = effectsOf({ ...paid, account });
  const earning = payee === account.accountId ? account : (book.account(payee) ?? openedAccount(payee, payeeOpensWith));
  const earned = isSink(payee) ? [] : [{ ...earning, earned: earning.earned + amount }];
  return { ...effects, accounts: [...effects.accounts, ...earned], entries: [entry] };
}

interface VoidedAnswer {
  readonly voided: true;
  readonly expired?: true;
  readonly replay?: true;
}

export interface VoidWish {
  readonly holdId: string;
  readonly owner: string;
}

/** An id that was never used is burnt, so that a hold which arrives late is refused. */
export function decideVoid(
  book: Book,
  { holdId, owner }: VoidWish,
): Ruling<VoidedAnswer, 'E_HOLD_CLOSED' | 'E_LEDGER_FROZEN'> {
  const hold = book.hold({ holdId, ownerKind: 'service', owner });
  if (hold === null) return allow({ answer: { voided: true }, effects: { holds: [burnt(book, holdId, owner)] } });
  if (hold.owner !== owner) return deny('E_HOLD_CLOSED', { state: 'foreign' });
  if (hold.state === 'posted') return deny('E_HOLD_CLOSED', { state: hold.state });
  if (hold.state === 'expired') return allow({ answer: { voided: true, expired: true }, effects: {} });
  if (hold.state === 'released') return allow({ answer: { voided: true, replay: true }, effects: {} });
  const effects = released(book, hold, owner);
  return effects === 'frozen' ? frozen() : allow({ answer: { voided: true }, effects });
}

function burnt(book: Book, holdId: string, owner: string): Hold {
  const unused = { payer: null, amount: 0n, condition: null, bodyHash: null, ttlMs: 0, deadlineAt: null };
  const hold = newHold(book, { holdId, ownerKind: 'service', owner, ...unused });
  return { ...hold, state: 'released', closedAt: book.now, closedBy: owner };
}

function released(book: Book, hold: Hold, by: string): Effects | 'frozen' {
  const closed = closeHold(hold, 'released', { at: book.now, by });
  const funds = freed(book, hold);
  if (funds === 'frozen' || closed === null) return 'frozen';
  return {
    ...(funds === null ? {} : effectsOf(funds)),
    holds: [closed],
    facts: [factOf('escrow:released', hold, hold.amount)],
  };
}

export interface ReleaseWish {
  readonly holdId: string;
  /** Who releases. */
  readonly principal: string;
  /** Whose hold it is; null = the only one under that id, whoever placed it. For operators, but for the own. */
  readonly owner: string | null;
}

/** False tells nothing: unknown, closed, expired and somebody else's look the same. */
export function decideRelease(
  book: Book,
  { holdId, principal, owner }: ReleaseWish,
): Ruling<{ released: boolean }, 'E_LEDGER_FROZEN' | 'E_AMBIGUOUS'> {
  const isMeant = (hold: Hold): boolean => owner === null || hold.owner === owner;
  const [hold, another] = book.holdsWithId(holdId).filter(isMeant);
  if (hold === undefined) return allow({ answer: { released: false }, effects: {} });
  if (another !== undefined) {
    const message = 'Several callers hold under that id: name the agent, or operator for a hold of your own.';
    return deny('E_AMBIGUOUS', { reason: 'several_holders' }, message);
  }
  const effects = released(book, hold, principal);
  return effects === 'frozen' ? frozen() : allow({ answer: { released: true }, effects });
}
