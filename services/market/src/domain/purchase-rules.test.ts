import { describe, expect, test } from 'vitest';
import { OPEN_AT_ONCE } from './offer.ts';
import { type PurchaseWish, type Shelf, takeFrom } from './purchase-rules.ts';

const wish: PurchaseWish = { listingId: 'l', bidId: null, buyerFamily: 'f' };
const shelf = (left: number, openTrades = 0): Shelf => ({
  left: new Map([['l', left]]),
  openBids: new Set(['b']),
  openTrades: new Map([['f', openTrades]]),
});

describe('of those that buy at once', () => {
  test('as many get one as there are', () => {
    const two = shelf(2);
    expect([wish, wish, wish].map((one) => takeFrom(two, one))).toMatchObject([
      { ok: true },
      { ok: true },
      { code: 'E_SOLD_OUT' },
    ]);
    expect(two.left.get('l')).toBe(0);
  });

  test('of a listing that is not there nothing is left', () => {
    expect(takeFrom(shelf(1), { ...wish, listingId: 'gone' })).toMatchObject({ code: 'E_SOLD_OUT' });
  });

  test('one gets the bid, and who is denied it takes no supply', () => {
    const two = shelf(2);
    const accepting = { ...wish, bidId: 'b' };
    expect([accepting, accepting].map((one) => takeFrom(two, one))).toMatchObject([
      { ok: true },
      { code: 'E_BID_CLOSED' },
    ]);
    expect(two.left.get('l')).toBe(1);
  });

  test('a bid on nothing that is listed needs no supply', () => {
    expect(takeFrom(shelf(0), { ...wish, listingId: null, bidId: 'b' })).toMatchObject({ ok: true });
  });

  test('a family gets no more than it may have open, and what it is denied is there for others', () => {
    const many = shelf(5, OPEN_AT_ONCE - 1);
    expect([wish, wish].map((one) => takeFrom(many, one))).toMatchObject([
      { ok: true },
      { code: 'E_QUOTA', details: { limit: OPEN_AT_ONCE } },
    ]);
    expect(takeFrom(many, { ...wish, buyerFamily: 'other' })).toMatchObject({ ok: true });
    expect(many.left.get('l')).toBe(3);
  });
});
