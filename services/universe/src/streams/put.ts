/** How work gets into a queue, which is made when there is none. */
import { allow, type Decision, type Denial } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import type { Work } from '../universe-store.ts';
import { decidePuts, type Enqueued } from './domain/puts.ts';
import { decideNewQueue, hearersOf, isInbox } from './domain/stream.ts';
import { countStreams, ensureStream, type NewStream, readStream, type StreamRow } from './stream-rows.ts';
import { countOpen, findByKeys, type NewWork, type Placed, workInsertion } from './work-rows.ts';

export type Wish = Omit<NewStream, 'streamId'>;

const lockNames = nameLock('universe');

/** The queue, locked; made if there is none and there may be one more. `makeRoom`: false = there is none to be had. */
export async function ensure(
  { tx, emit }: Work,
  wish: Wish,
  ids: Ids,
  makeRoom: () => Promise<boolean> = async () => false,
): Promise<Decision<StreamRow & { readonly isNew: boolean }, 'E_QUOTA'>> {
  const present = await readStream(tx, wish, 'FOR UPDATE');
  if (present !== null) return allow({ ...present, isNew: false });
  if (!isInbox(wish.stream)) {
    await lockNames(tx, [`queues of ${wish.workspace}`]);
    const may = decideNewQueue(await countStreams(tx, wish));
    if (!may.ok && !(await makeRoom())) return may;
  }
  const row = await ensureStream(tx, { ...wish, streamId: ids.next('str') });
  const { parties, ...where } = hearersOf(wish);
  if (row.isNew) emit({ name: 'stream:created', ...where, payload: { stream: wish.stream, by: wish.by, parties } });
  return allow(row);
}

export interface Put {
  readonly decisions: readonly Decision<Enqueued, 'E_STREAM_FULL'>[];
  /** What remains to be done; null = nothing is new. */
  readonly insertion: Statement | null;
}

/** In the order given; a key that is there, or was given before, is no new work. */
export async function put(
  unit: Work,
  wish: Wish,
  works: readonly NewWork[],
  ids: Ids,
): Promise<Decision<Put, 'E_QUOTA'>> {
  const { tx, emit } = unit;
  const locked = await lockQueue(unit, wish, works, ids);
  if (!locked.ok) return locked;
  const { row, known } = locked.value;
  const { options, lastSeq } = row;
  const room = options.maxItems - (await openOf(tx, row, works.length));
  const { added, decisions } = decidePuts(works, { known, room, lastSeq, options });
  const { parties, ...where } = hearersOf(wish);
  for (const decision of decisions) {
    if (!decision.ok || decision.value.duplicate) continue;
    const { id, seq } = decision.value;
    emit({ name: 'stream:enqueued', ...where, payload: { stream: wish.stream, id, seq, parties } });
  }
  return allow({ decisions, insertion: added.length > 0 ? workInsertion(row, added) : null });
}

interface LockedQueue {
  readonly row: StreamRow;
  /** By keys of the works, what is there under them. */
  readonly known: ReadonlyMap<string, Placed>;
}

/** Made if there is none. */
async function lockQueue(
  unit: Work,
  wish: Wish,
  works: readonly NewWork[],
  ids: Ids,
): Promise<Decision<LockedQueue, 'E_QUOTA'>> {
  const { tx } = unit;
  const keys = works.flatMap(({ key }) => (key === null ? [] : [key]));
  const [row, known] = await Promise.all([readStream(tx, wish, 'FOR UPDATE'), findByKeys(tx, wish, keys)]);
  if (row !== null) return allow({ row, known });
  const made = await ensure(unit, wish, ids);
  return made.ok ? allow({ row: made.value, known: await findByKeys(tx, wish, keys) }) : made;
}

/** Counted only where the queue may be full. */
async function openOf(tx: Work['tx'], { streamId, lastSeq, options }: StreamRow, more: number): Promise<number> {
  return lastSeq + more <= options.maxItems ? 0 : countOpen(tx, streamId, options.maxItems);
}

export interface Putting {
  readonly wish: Wish;
  readonly work: NewWork;
}

/** Into one queue, each for whoever put it there: where there is none, the first whose it may be makes it. */
export async function putAll(
  unit: Work,
  puttings: readonly Putting[],
  ids: Ids,
): Promise<readonly Decision<Enqueued, 'E_STREAM_FULL' | 'E_QUOTA'>[]> {
  const refused = new Map<string | null, Denial<'E_QUOTA'>>();
  for (const [index, { wish }] of puttings.entries()) {
    if (refused.has(wish.family)) continue;
    const works = puttings.slice(index).map(({ work }) => work);
    const made = await put(unit, wish, works, ids);
    if (!made.ok) {
      refused.set(wish.family, made);
      continue;
    }
    const { decisions, insertion } = made.value;
    if (insertion !== null) unit.lastly(insertion);
    return [...denialsOf(puttings.slice(0, index), refused), ...decisions];
  }
  return denialsOf(puttings, refused);
}

function denialsOf(
  puttings: readonly Putting[],
  refused: ReadonlyMap<string | null, Denial<'E_QUOTA'>>,
): Denial<'E_QUOTA'>[] {
  return puttings.flatMap(({ wish }) => refused.get(wish.family) ?? []);
}
