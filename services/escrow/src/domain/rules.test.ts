/** The rules on their own: a book goes in, a ruling comes out, and only what is applied changes the book. */
import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, it } from 'vitest';
import { type Account, available, openedAccount } from './account.ts';
import { Book, type BookRows } from './book.ts';
import { enter, postingsOf } from './entry.ts';
import { closeHold, type Hold, isDue } from './hold.ts';
import { decideCapture, decideHold, decideRelease, decideVoid, expire, type HoldWish } from './hold-rules.ts';
import { decideLimit, decideMemberLimit } from './limit-rules.ts';
import { countDraw, drawDenial, newMember } from './member.ts';
import { decideDebit, decideDraw, decideRefund } from './spend-rules.ts';

const NOW = 1_000_000;
const CREDIT = 1_000_000n;

function bookOf(rows: Partial<BookRows> = {}): Book {
  return new Book({
    now: NOW,
    accounts: [],
    members: [],
    holds: [],
    paid: [],
    references: [],
    holdCounts: new Map(),
    ...rows,
  });
}

const account = (accountId: string, credits: bigint, over: Partial<Account> = {}): Account => ({
  ...openedAccount(accountId, credits * CREDIT),
  version: 1n,
  ...over,
});
const payer = (accountId: string, opensWith: bigint | null = null) => ({ account: accountId, member: null, opensWith });
const holdWish = (over: Partial<HoldWish> = {}): HoldWish => ({
  holdId: 'trade:1',
  payer: payer('a'),
  amount: 6n * CREDIT,
  condition: null,
  ttlMs: 100,
  deadlineAt: null,
  ownerKind: 'service',
  owner: 'market',
  bodyHash: 'h',
  ...over,
});
const debitOf = (amount: bigint, over = {}) => ({
  payer: payer('a'),
  amount,
  payee: 'sink:spend',
  payeeOpensWith: 0n,
  by: 'x',
  memo: null,
  entryId: 'ent_1',
  reference: null,
  ...over,
});

type Ruled =
  | { readonly ok: true; readonly value: { readonly effects: object } }
  | { readonly ok: false; readonly code: string };

/** Rules and applies. */
function ruled(book: Book, decide: (book: Book) => Ruled): void {
  const ruling = decide(book);
  if (!ruling.ok) throw new Error(ruling.code);
  book.apply(ruling.value.effects);
}

describe('a denied request', () => {
  it('changes nothing, and neither does a ruling that is not applied', () => {
    const book = bookOf({ accounts: [account('a', 5n)] });
    expect(decideHold(book, holdWish())).toMatchObject({ ok: false, code: 'E_BUDGET', details: { available: 5 } });
    expect(decideDebit(book, debitOf(6n * CREDIT))).toMatchObject({ ok: false, code: 'E_BUDGET' });
    expect(decideDebit(book, debitOf(5n * CREDIT))).toMatchObject({ ok: true });
    expect(book.account('a')).toEqual(account('a', 5n));
    expect(book.changes()).toEqual({ accounts: [], members: [], holds: [], entries: [] });
  });

  it('knows who has no budget from who has spent it', () => {
    expect(decideHold(bookOf(), holdWish())).toMatchObject({ details: { reason: 'unknown_budget', available: 0 } });
    expect(decideHold(bookOf(), holdWish({ payer: payer('a', 5n * CREDIT) }))).toMatchObject({
      details: { reason: 'budget_exceeded' },
    });
    expect(decideHold(bookOf(), holdWish({ payer: payer('a', 6n * CREDIT) }))).toMatchObject({ ok: true });
  });
});

describe('a hold', () => {
  it('that is past its time frees no place when it is tidied up: it was counted no more', () => {
    const ofCaller = { ownerKind: 'caller', owner: 'tok:ann', payer: null, amount: 0n } as const;
    const placing = bookOf();
    ruled(placing, (at) => decideHold(at, holdWish({ ...ofCaller, holdId: 'r' })));
    const [placed] = placing.changes().holds;
    if (placed === undefined) throw new Error('a hold was placed');
    const due = { ...placed, seq: 1n, expiresAt: NOW };
    const book = bookOf({ holds: [due], holdCounts: new Map([['tok:ann', 1000]]) });
    book.apply(expire(book, due) ?? {});
    const again = decideHold(book, holdWish({ ...ofCaller, holdId: 'r' }));
    expect(again).toMatchObject({ ok: false, code: 'E_HOLD_LIMIT' });
  });

  it('is placed before its deadline or not at all; one that is there is answered again', () => {
    const book = bookOf({ accounts: [account('a', 10n)] });
    const late = holdWish({ deadlineAt: NOW });
    expect(decideHold(book, late)).toMatchObject({ code: 'E_HOLD_EXPIRED', details: { reason: 'deadline' } });
    expect(decideHold(bookOf(), late)).toMatchObject({ code: 'E_HOLD_EXPIRED' });
    ruled(book, (at) => decideHold(at, holdWish({ deadlineAt: NOW + 1 })));
    expect(decideHold(book, late)).toMatchObject({ ok: true, value: { answer: { replay: true } } });
  });

  it('goes from held to one end, whichever comes first', () => {
    const ends = [
      (book: Book) =>
        decideCapture(book, {
          holdId: 'trade:1',
          owner: 'market',
          amount: null,
          payee: 'b',
          payeeOpensWith: 0n,
          entryId: 'ent_1',
        }),
      (book: Book) => decideVoid(book, { holdId: 'trade:1', owner: 'market' }),
    ];
    for (const first of ends) {
      for (const second of ends) {
        const book = bookOf({ accounts: [account('a', 10n)] });
        ruled(book, (at) => decideHold(at, holdWish()));
        ruled(book, first);
        const after = book.account('a');
        const again = second(book);
        if (first === second)
          expect(again).toMatchObject({ ok: true, value: { answer: { replay: true }, effects: {} } });
        else expect(again).toMatchObject({ ok: false, code: 'E_HOLD_CLOSED' });
        expect(after).toMatchObject({ pending: 0n, spent: first === ends[0] ? 6n * CREDIT : 0n });
      }
    }
  });

  it('is due at its deadline, not before', () => {
    const held: Pick<Hold, 'state' | 'expiresAt'> = { state: 'held', expiresAt: NOW };
    expect(isDue(held, NOW - 1)).toBe(false);
    expect(isDue(held, NOW)).toBe(true);
    expect(isDue({ ...held, state: 'posted' }, NOW)).toBe(false);
  });

  it('gives its reservation back when its time is over, once', () => {
    const book = bookOf({ accounts: [account('a', 10n)] });
    ruled(book, (at) => decideHold(at, holdWish({ ttlMs: 0 })));
    const [due] = book.dueHolds();
    if (due === undefined) throw new Error('nothing is due');
    book.apply(expire(book, due) ?? {});
    expect(book.account('a')).toMatchObject({ pending: 0n });
    expect(book.dueHolds()).toEqual([]);
    expect(
      closeHold(book.hold({ holdId: 'trade:1', ownerKind: 'service', owner: 'market' }) ?? due, 'released', {
        at: NOW,
        by: 'x',
      }),
    ).toBeNull();
  });

  it('has an id of its own principal, and an operator who names nobody means the only one', () => {
    const book = bookOf();
    const record = { payer: null, ownerKind: 'caller', holdId: 'h' } as const;
    const release = (owner: string | null) => decideRelease(book, { holdId: 'h', principal: 'op', owner });
    for (const owner of ['p', 'q']) ruled(book, (at) => decideHold(at, holdWish({ ...record, owner })));
    expect(decideHold(book, holdWish({ ...record, owner: 'p' }))).toMatchObject({ code: 'E_HOLD_EXISTS' });
    expect(release(null)).toMatchObject({ code: 'E_AMBIGUOUS' });
    expect(release('r')).toMatchObject({ value: { answer: { released: false }, effects: {} } });
    ruled(book, () => release('p'));
    expect(release('p')).toMatchObject({ value: { answer: { released: false } } });
    expect(release(null)).toMatchObject({ value: { effects: { holds: [{ owner: 'q', closedBy: 'op' }] } } });
  });

  it('of a frozen account stays as it is', () => {
    const book = bookOf({ accounts: [account('a', 10n)] });
    ruled(book, (at) => decideHold(at, holdWish({ ownerKind: 'caller', owner: 'p', holdId: 'h' })));
    book.apply({ accounts: [{ ...account('a', 10n), pending: 6n * CREDIT, frozen: true }] });
    expect(decideRelease(book, { holdId: 'h', principal: 'p', owner: 'p' })).toMatchObject({
      code: 'E_LEDGER_FROZEN',
    });
    expect(
      decideLimit(book, { account: 'a', limit: 1n, opensWith: 0n, by: 'x', entryId: 'e', repairs: false }),
    ).toMatchObject({ code: 'E_LEDGER_FROZEN' });
  });
});

describe('members', () => {
  const pool = account('ws:w', 500n, { spent: 100n * CREDIT });

  it('are stopped by their own limit first, else by the pool', () => {
    const member = newMember('w', 'm');
    expect(drawDenial(member, pool, 450n * CREDIT)).toBe('workspace_pool_exceeded');
    expect(drawDenial(member, pool, 400n * CREDIT)).toBeNull();
    expect(drawDenial({ ...member, limit: 25n * CREDIT }, pool, 30n * CREDIT)).toBe('member_limit_exceeded');
    expect(drawDenial({ ...member, limit: 900n * CREDIT }, pool, 450n * CREDIT)).toBe('workspace_pool_exceeded');
  });

  it('draw so often a minute and no more', () => {
    let member = newMember('w', 'm');
    for (let n = 0; n < 3; n += 1) member = countDraw(member, NOW + n, 3) ?? newMember('', '');
    expect(member.draws).toBe(3);
    expect(countDraw(member, NOW + 59_999, 3)).toBeNull();
    expect(countDraw(member, NOW + 60_000, 3)).toMatchObject({ draws: 1 });
    expect(countDraw(member, NOW + 59_999, 0)).toMatchObject({ draws: 4 });
  });

  it('keep what they used when their limit changes', () => {
    const book = bookOf({ accounts: [pool] });
    ruled(book, (at) =>
      decideDraw(at, {
        workspaceId: 'w',
        member: 'm',
        amount: 20n * CREDIT,
        payee: 'sink:spend',
        by: 'x',
        memo: null,
        entryId: 'ent_1',
        drawsPerMinute: 0,
      }),
    );
    const limit = (credits: bigint) =>
      decideMemberLimit(book, { workspaceId: 'w', agentId: 'm', limit: credits * CREDIT, by: 'x', entryId: 'ent_2' });
    expect(limit(19n)).toMatchObject({ ok: false, code: 'E_LIMIT_BELOW_COMMITTED' });
    expect(limit(20n)).toMatchObject({ ok: true, value: { answer: { spent: 20, limit: 20, available: 0 } } });
  });
});

describe('entries', () => {
  it('are numbered and chained', () => {
    const draft = { entryId: 'ent_1', kind: 'spend', by: 'x', amount: 1n, payee: 'sink:spend' } as const;
    const first = enter(account('a', 1n), draft, NOW);
    const second = enter(first.account, { ...draft, entryId: 'ent_2' }, NOW);
    expect([first.entry.no, second.entry.no]).toEqual([1n, 2n]);
    expect(first.entry.prevHash).toBeNull();
    expect(second.entry.prevHash).toBe(first.entry.hash);
    expect(enter(account('a', 1n), { ...draft, amount: 2n }, NOW).entry.hash).not.toBe(first.entry.hash);
  });

  it('of every kind post sums of zero', () => {
    for (const kind of ['spend', 'capture', 'refund', 'limit', 'repair'] as const) {
      const { entry } = enter(account('a', 1n), { entryId: 'e', kind, by: 'x', amount: 7n, payee: 'b' }, NOW);
      expect(postingsOf(entry).reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n);
    }
  });

  it('are refunded up to what was paid', () => {
    const book = bookOf({ accounts: [account('a', 10n), account('b', 0n)] });
    ruled(book, (at) => decideDebit(at, debitOf(10n * CREDIT, { payee: 'b' })));
    const refund = (credits: bigint | null, ref: string) =>
      decideRefund(book, {
        entryId: 'ent_1',
        amount: credits === null ? null : credits * CREDIT,
        by: 'x',
        refundEntryId: `r${ref}`,
        ref,
        bodyHash: 'h',
      });
    ruled(book, () => refund(4n, '1'));
    expect(refund(7n, '2')).toMatchObject({ ok: false, code: 'E_REFUNDED' });
    expect(refund(4n, '1')).toMatchObject({ ok: true, value: { answer: { replay: true } } });
    ruled(book, () => refund(null, '3'));
    expect([book.account('a')?.spent, book.account('b')?.earned]).toEqual([0n, 0n]);
    expect(refund(null, '4')).toMatchObject({ ok: false, code: 'E_REFUNDED' });
  });
});

it('whatever is asked in whatever order, nothing is overspent and nothing is lost', () => {
  const amount = fc.bigInt({ min: 1n, max: 12n * CREDIT });
  const request = fc.oneof(
    fc.record({ what: fc.constant('debit' as const), amount, to: fc.constantFrom('a', 'b', 'sink:spend') }),
    fc.record({ what: fc.constant('hold' as const), amount, id: fc.constantFrom('trade:1', 'trade:2') }),
    fc.record({ what: fc.constant('capture' as const), amount, id: fc.constantFrom('trade:1', 'trade:2') }),
    fc.record({ what: fc.constant('void' as const), id: fc.constantFrom('trade:1', 'trade:2') }),
  );
  fc.assert(
    fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
      const book = bookOf({ accounts: [account('a', 10n), account('b', 3n)] });
      for (const [index, one] of requests.entries()) {
        const entryId = `ent_${index}`;
        const ruling =
          one.what === 'debit'
            ? decideDebit(book, debitOf(one.amount, { payee: one.to, entryId }))
            : one.what === 'hold'
              ? decideHold(book, holdWish({ holdId: one.id, amount: one.amount }))
              : one.what === 'capture'
                ? decideCapture(book, {
                    holdId: one.id,
                    owner: 'market',
                    amount: one.amount,
                    payee: 'b',
                    payeeOpensWith: 0n,
                    entryId,
                  })
                : decideVoid(book, { holdId: one.id, owner: 'market' });
        if (ruling.ok) book.apply(ruling.value.effects);
      }
      const { entries, holds } = book.changes();
      const [a, b] = [book.account('a'), book.account('b')];
      if (a === null || b === null) throw new Error('accounts never go');
      for (const { limit, spent, earned, pending } of [a, b])
        expect(limit + earned - spent - pending).toBeGreaterThanOrEqual(0n);
      expect(available(a)).toBe(a.limit + a.earned - a.spent - a.pending);
      expect(entries.flatMap(postingsOf).reduce((sum, posting) => sum + posting.amount, 0n)).toBe(0n);
      const held = holds.filter(({ state }) => state === 'held').reduce((sum, hold) => sum + hold.amount, 0n);
      expect(a.pending).toBe(held);
    }),
    { numRuns: runs(1000) },
  );
});
