/** Listings that somebody looks for, page by page. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { View } from '../access.ts';
import { IS_LEFT, LISTING, type ListingRow, OVERDUE, VISIBLE, visibleTo } from './offer-rows.ts';

export interface ListingFilter {
  readonly type: string | null;
  readonly seller: string | null;
  readonly tags: readonly string[];
  /** Folded; each has to be somewhere. */
  readonly words: readonly string[];
  readonly activeOnly: boolean;
}

interface FoundListing extends ListingRow {
  /** All words stand in the title. */
  readonly inTitle: boolean;
}

/** Where a page begins: behind this one. */
export interface After {
  readonly inTitle: boolean;
  readonly id: string;
}

/** All words, $6, stand in the column. */
const HAS_WORDS = (column: string): string =>
  `NOT EXISTS (SELECT 1 FROM unnest($6::text[]) word WHERE strpos(${column}, word) = 0)`;

/** Who names no words finds all of them in each title: then the ids are the order, and nobody looks beyond the page. */
function pageOfListings(hasWords: boolean): string {
  const inTitle = hasWords ? HAS_WORDS('folded_title') : 'true';
  const behind = hasWords ? `(${inTitle}, listing_id) < ($9::boolean, $8)` : '$9::boolean AND listing_id < $8';
  return `SELECT listing_id, ${inTitle} AS in_title FROM market.listings
    WHERE ${VISIBLE(1)} AND ($3::text IS NULL OR type = $3) AND ($4::text IS NULL OR seller = $4)
      AND (cardinality($5::text[]) = 0 OR tags && $5) AND (NOT $7::boolean OR ${IS_LEFT})
      AND ${hasWords ? HAS_WORDS('folded') : 'cardinality($6::text[]) = 0'} AND ($8::text IS NULL OR ${behind})
    ORDER BY ${hasWords ? 'in_title DESC, ' : ''}listing_id DESC LIMIT $10`;
}

/** Titles first, then the newest. */
export async function findListings(
  client: SqlClient,
  view: View,
  { type, seller, tags, words, activeOnly }: ListingFilter,
  { after, limit }: { readonly after: After | null; readonly limit: number },
): Promise<FoundListing[]> {
  return client.$queryRawUnsafe<FoundListing[]>(
    `WITH ${OVERDUE}, page AS MATERIALIZED (${pageOfListings(words.length > 0)})
     SELECT ${LISTING}, in_title AS "inTitle" FROM page JOIN market.listings USING (listing_id)
     ORDER BY in_title DESC, listing_id DESC`,
    ...visibleTo(view),
    type,
    seller,
    tags,
    words,
    activeOnly,
    after?.id ?? null,
    after?.inTitle ?? false,
    limit,
  );
}
