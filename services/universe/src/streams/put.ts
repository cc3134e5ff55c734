/** How work gets into a queue, which is made when there is none. */
import type { Decision } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import type { Work } from '../universe-store.ts';
import { decidePuts, type Enqueued } from './domain/puts.ts';
import { hearersOf, type StreamOptions, type StreamPlace } from './domain/stream.ts';
import { ensureStream, readStream, type StreamRow } from './stream-rows.ts';
import { countOpen, findByKeys, type NewWork, type Placed, workInsertion } from './work-rows.ts';

export interface Wish extends StreamPlace {
  readonly by: string;
  readonly options: StreamOptions;
}

export async function ensure(
  { tx, emit }: Work,
  wish: Wish,
  ids: Ids,
): Promise<StreamRow & { readonly isNew: boolean }> {
  const row = await ensureStream(tx, { ...wish, streamId: ids.next('str') });
  const { parties, ...where } = hearersOf(wish);
  if (row.isNew) emit({ name: 'stream:created', ...where, payload: { stream: wish.stream, by: wish.by, parties } });
  return row;
}

export interface Put {
  readonly decisions: readonly Decision<Enqueued, 'E_STREAM_FULL'>[];
  /** What remains to be done; null = nothing is new. */
  readonly insertion: Statement | null;
}

/** In the order given; a key that is there, or was given before, is no new work. */
export async function put(unit: Work, wish: Wish, works: readonly NewWork[], ids: Ids): Promise<Put> {
  const { tx, emit } = unit;
  const { row, known } = await lockQueue(unit, wish, works, ids);
  const { options, lastSeq } = row;
  const room = options.maxItems - (await openOf(tx, row, works.length));
  const { added, decisions } = decidePuts(works, { known, room, lastSeq, options });
  const { parties, ...where } = hearersOf(wish);
  for (const decision of decisions) {
    if (!decision.ok || decision.value.duplicate) continue;
    const { id, seq } = decision.value;
    emit({ name: 'stream:enqueued', ...where, payload: { stream: wish.stream, id, seq, parties } });
  }
  return { decisions, insertion: added.length > 0 ? workInsertion(row, added) : null };
}

interface LockedQueue {
  readonly row: StreamRow;
  /** By keys of the works, what is there under them. */
  readonly known: ReadonlyMap<string, Placed>;
}

/** Made if there is none. */
async function lockQueue(unit: Work, wish: Wish, works: readonly NewWork[], ids: Ids): Promise<LockedQueue> {
  const { tx } = unit;
  const keys = works.flatMap(({ key }) => (key === null ? [] : [key]));
  const [row, known] = await Promise.all([readStream(tx, wish, 'FOR UPDATE'), findByKeys(tx, wish, keys)]);
  if (row !== null) return { row, known };
  return { row: await ensure(unit, wish, ids), known: await findByKeys(tx, wish, keys) };
}

/** Counted only where the queue may be full. */
async function openOf(tx: Work['tx'], { streamId, lastSeq, options }: StreamRow, more: number): Promise<number> {
  return lastSeq + more <= options.maxItems ? 0 : countOpen(tx, streamId, options.maxItems);
}
