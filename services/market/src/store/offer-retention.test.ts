import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { sweepOffers } from './offer-retention.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['listings', 'bids', 'trades']) await client.$executeRawUnsafe(`DELETE FROM market.${table}`);
});

interface Sold {
  readonly id: string;
  readonly ageDays: number;
  readonly taken?: number;
  /** Null = its trade is open. */
  readonly closedDays?: number | null;
}

async function listing({ id, ageDays, taken = 1, closedDays }: Sold): Promise<void> {
  await client.$executeRawUnsafe(
    `INSERT INTO market.listings (listing_id, type, title, description, amount, supply, taken, seller, family, folded_title,
       folded, created_at)
     VALUES ($1, 'favor', 't', '', 0, 1, $2, 's', 's', 't', 't', now() - make_interval(days => $3::int))`,
    id,
    taken,
    ageDays,
  );
  if (closedDays !== undefined) await trade(id, id, closedDays);
}

async function trade(id: string, listingId: string | null, closedDays: number | null): Promise<void> {
  const state = closedDays === null ? 'pending' : 'completed';
  await client.$executeRawUnsafe(
    `INSERT INTO market.trades (trade_id, kind, listing_id, seller, buyer, buyer_family, amount, operator, state, settlement, created_at,
       due_at, window_ms, unsettled, tried_at, closed_at, closed_by)
     VALUES ($1, 'plain', $2, 's', 'b', 'b', 0, true, $3, 'none', now(), now(), 1000, 'confirm', now(),
       now() - make_interval(days => $4::int), NULL)`,
    id,
    listingId,
    state,
    closedDays,
  );
}

async function bid(id: string, expiredDays: number, status: string, tradeId: string | null = null): Promise<void> {
  await client.$executeRawUnsafe(
    `INSERT INTO market.bids (bid_id, listing_id, title, description, amount, bidder, family, status, expires_at, trade_id,
       created_at)
     VALUES ($1, NULL, 't', '', 0, 'b', 'b', $2, now() - make_interval(days => $3::int), $4, now())`,
    id,
    status,
    expiredDays,
    tradeId,
  );
}

async function left(table: 'listings' | 'bids' | 'trades', id: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ id: string }[]>(`SELECT ${id} AS id FROM market.${table} ORDER BY ${id}`);
  return rows.map((row) => row.id);
}

it('sold listings go when their last trade was closed long ago; their trades stay', async () => {
  await listing({ id: 'gone', ageDays: 91, closedDays: 91 });
  await listing({ id: 'late trade', ageDays: 91, closedDays: 89 });
  await listing({ id: 'open trade', ageDays: 91, closedDays: null });
  await listing({ id: 'unsold', ageDays: 91, taken: 0 });
  await listing({ id: 'young', ageDays: 1, closedDays: 1 });
  await sweepOffers(client, 90);
  expect(await left('listings', 'listing_id')).toEqual(['late trade', 'open trade', 'unsold', 'young']);
  expect(await left('trades', 'trade_id')).toContain('gone');
});

it('closed bids go; one that may be open again, or was over a short time ago, stays', async () => {
  await trade('open', null, null);
  await trade('closed', null, 91);
  await bid('accepted', 91, 'accepted', 'closed');
  await bid('expired', 91, 'open');
  await bid('withdrawn', 91, 'withdrawn');
  await bid('of an open trade', 91, 'accepted', 'open');
  await bid('young', 89, 'withdrawn');
  await sweepOffers(client, 90);
  expect(await left('bids', 'bid_id')).toEqual(['of an open trade', 'young']);
});

it('a listing waits for the bids on it', async () => {
  await listing({ id: 'bid on', ageDays: 91, closedDays: 91 });
  await bid('young', 89, 'withdrawn');
  await client.$executeRawUnsafe(`UPDATE market.bids SET listing_id = 'bid on'`);
  await sweepOffers(client, 90);
  expect(await left('listings', 'listing_id')).toEqual(['bid on']);
});
