import { filledDatabase, rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import { expect, test } from 'vitest';
import { findListings, type After } from './listing-search.ts';

const MANY = 2000;
const LIMIT = 10;
const ANY = { type: null, seller: null, tags: [], words: [], activeOnly: false };

const client = await filledDatabase([
  `INSERT INTO market.listings (listing_id, type, title, description, tags, amount, supply, seller, family, folded_title, folded, created_at)
     SELECT 'lst_' || to_char(n, 'FM00000'), 'skill', 'x', 'x', '{}', 0, 1, 'ann', 'ann', CASE WHEN n % 100 = 0 THEN 'rare' ELSE 'x' END,
       CASE WHEN n % 50 = 0 THEN 'rare' ELSE 'x' END, now() FROM generate_series(1, ${MANY}) n`,
]);

test('a page without words is read from where it begins to where it ends', async () => {
  for (const after of [null, { inTitle: true, id: 'lst_01000' }]) {
    const looked = await rowsLookedAt(client, async (tx) => {
      expect(await findListings(tx, 'everything', ANY, { after, limit: LIMIT })).toHaveLength(LIMIT);
    });
    expect(looked).toBeLessThanOrEqual(4 * LIMIT);
  }
});

test('pages of words have what has them in its title first, then the newest, each once', async () => {
  const found: string[] = [];
  for (let after: After | null = null; ; ) {
    const rows = await findListings(client, 'everything', { ...ANY, words: ['rare'] }, { after, limit: LIMIT });
    found.push(...rows.map(({ listingId, inTitle }) => `${inTitle} ${listingId}`));
    const last = rows.at(-1);
    if (last === undefined) break;
    after = { inTitle: last.inTitle, id: last.listingId };
  }
  expect(found).toHaveLength(MANY / 50);
  expect(found).toEqual([...new Set(found)].sort().reverse());
});
