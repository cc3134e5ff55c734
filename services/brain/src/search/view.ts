/** What a query may see of a store. */
import { FIELDS } from './fields.ts';
import type { PostingList } from './posting-list.ts';
import { noTotals, type RowStore, type Totals } from './row-store.ts';

/** The admitted chains and their totals. */
export interface View {
  /** By chain; 1 = admitted. null = every row is. */
  readonly mask: Uint8Array | null;
  readonly totals: Totals;
  /** Mean length of each field. */
  readonly averages: Float64Array;
}

export function viewOf(store: RowStore, admitted: ReadonlySet<number> | null): View {
  const totals = noTotals();
  const visible = [...store.chains].filter(([chain]) => admitted === null || admitted.has(chain));
  for (const [, part] of visible) {
    totals.files += part.files;
    totals.rows += part.rows;
    part.lengths.forEach((length, field) => {
      totals.lengths[field] = (totals.lengths[field] ?? 0) + length;
    });
  }
  const averages = Float64Array.from(FIELDS, (_, field) => (totals.lengths[field] ?? 0) / totals.rows);
  if (visible.length === store.chains.size) return { mask: null, totals, averages };
  const mask = new Uint8Array(Math.max(...store.chains.keys()) + 1);
  for (const [chain] of visible) mask[chain] = 1;
  return { mask, totals, averages };
}

export function admittedRows(store: RowStore, postings: PostingList, mask: Uint8Array | null): number {
  if (mask === null) return postings.count;
  const { chainOf } = store;
  let count = 0;
  for (const chunk of postings.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) count += mask[chainOf[chunk[at] ?? 0] ?? 0] ?? 0;
  }
  return count;
}

/** How many admitted rows have a term; by its id. */
export function rowsOfTerm(store: RowStore, { mask }: View, id: number): number {
  const postings = store.postings.of(id);
  return postings === undefined ? 0 : admittedRows(store, postings, mask);
}
