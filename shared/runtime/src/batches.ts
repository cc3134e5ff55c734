/** Things that are written together lie in one row, as a JSON array: a row for each would cost more than what it tells of. */
import type { Statement } from './transaction.ts';

/** A row's worth. */
export interface Batch<Item> {
  readonly items: readonly Item[];
  /** UTF-8 bytes of `json`. */
  readonly bytes: number;
  readonly json: string;
}

/** No row has more, so that a few of them fit into a message of the bus. */
const MAX_BATCH_ITEMS = 100;
const MAX_BATCH_BYTES = 128 * 1024;

/** In order. An item that is larger than a batch may be has one of its own. */
export function batchesOf<Item extends object>(items: readonly Item[]): Batch<Item>[] {
  const batches: Batch<Item>[] = [];
  let taken: Item[] = [];
  let texts: string[] = [];
  let bytes = 0;
  const close = (): void => {
    if (taken.length > 0) batches.push({ items: taken, bytes: bytes + 1, json: `[${texts.join(',')}]` });
    [taken, texts, bytes] = [[], [], 0];
  };
  for (const item of items) {
    const text = JSON.stringify(item);
    const size = Buffer.byteLength(text) + 1;
    if (taken.length === MAX_BATCH_ITEMS || bytes + size >= MAX_BATCH_BYTES) close();
    taken.push(item);
    texts.push(text);
    bytes += size;
  }
  close();
  return batches;
}

/** The columns with their types, such as `count int`; a row has a value for each, in their order. Null = there are none. */
export function insertionOf(
  table: string,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): Statement | null {
  if (rows.length === 0) return null;
  const split = columns.map((column) => column.split(' ', 2));
  const places = rows.map(
    (_row, row) => `(${split.map(([, type], column) => `$${row * split.length + column + 1}::${type}`).join(', ')})`,
  );
  const names = split.map(([name]) => name).join(', ');
  return { sql: `INSERT INTO ${table} (${names}) VALUES ${places.join(', ')}`, values: rows.flat() };
}
