/** Queues: made, filled, looked at, removed. */
import { allow, deny } from '@svc/contract/decision.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import type { UniverseEvent, UniverseStore, Work } from '../universe-store.ts';
import type { Enqueued } from './domain/puts.ts';
import { hearersOf, isSameOptions, type StreamPlace } from './domain/stream.ts';
import type { WorkStatus } from './domain/work.ts';
import {
  countWork,
  deleteOldestEmptyOf,
  deleteStream,
  placeKey,
  readCounts,
  readCreatorsWithoutRoom,
  readNext,
  readStream,
  type Seen,
  type StreamRow,
} from './stream-rows.ts';
import { ensure, type Putting, putAll, type Wish } from './put.ts';
import { MOST_TOGETHER, type NewWork, readWork, readWorkOf } from './work-rows.ts';

interface Remover {
  readonly name: string;
  readonly sees: boolean;
  /** What others have made too. */
  readonly mayAll: boolean;
}

type Removal = Pick<Unit<UniverseEvent>, 'tx' | 'emit' | 'audit'>;
export type StreamStore = ReturnType<typeof createStreamStore>;

export function createStreamStore(store: UniverseStore, { ids, clock }: Pick<Platform, 'ids' | 'clock'>) {
  const { client, change } = store;
  const enqueue = createGroupedChange<Work, Putting, Enqueued, 'E_STREAM_FULL' | 'E_QUOTA'>(change, clock, {
    laneOf: ({ wish }) => placeKey(wish),
    run: (unit, puttings) => putAll(unit, puttings, ids),
    keys: store.idempotency,
    readsFirst: true,
    most: MOST_TOGETHER,
  });
  return {
    /** Whose queues leave their family no room; nobody's where there is some. */
    creatorsWithoutRoom: (workspace: string, family: string) => readCreatorsWithoutRoom(client, { workspace, family }),
    create: (call: ChangeCall, wish: Wish, gone: readonly string[]) =>
      change<boolean, 'E_STREAM_EXISTS' | 'E_QUOTA'>(call, async (unit) => {
        const made = await ensure(unit, wish, ids, () => makeRoom(unit, wish, gone));
        if (!made.ok) return made;
        const { isNew, options } = made.value;
        return isNew || isSameOptions(options, wish.options) ? allow(isNew) : deny('E_STREAM_EXISTS', { options });
      }),
    enqueue: (call: ChangeCall, wish: Wish, work: Omit<NewWork, 'workId'>) =>
      enqueue(call, { wish, work: { ...work, workId: ids.next('wrk') } }),
    /** Of what somebody does not see there is nothing to remove; a keyed call that did remove it says so again. */
    remove: (call: ChangeCall, place: StreamPlace, who: Remover) =>
      change<number, 'E_STREAM_ABSENT' | 'E_NOT_CREATOR'>(call, async ({ tx, emit, audit }) => {
        const row = await readStream(tx, place, 'FOR UPDATE');
        if (row === null || !who.sees) return deny('E_STREAM_ABSENT');
        if (!who.mayAll && row.createdBy !== who.name) return deny('E_NOT_CREATOR');
        const removed = await deleteStream(tx, row.streamId);
        tellRemoval({ emit, audit }, place, { by: who.name, removed });
        return allow(removed);
      }),
    find: (place: StreamPlace) => readStream(client, place),
    count: ({ streamId }: StreamRow) => countWork(client, streamId),
    list: ({ streamId }: StreamRow, page: { status: WorkStatus | null; after: number; limit: number }) =>
      readWorkOf(client, streamId, page),
    counts: (seen: Seen | null, page: { after: string | null; limit: number }) => readCounts(client, seen, page),
    /** What somebody would get who asked now. */
    async peek(row: StreamRow) {
      const next = await readNext(client, row);
      return next === null ? null : readWork(client, next);
    },
  };
}

/** One is removed whose creator is among those that are gone. */
async function makeRoom({ tx, emit, audit }: Removal, wish: Wish, gone: readonly string[]): Promise<boolean> {
  if (gone.length === 0) return false;
  const { workspace, by } = wish;
  const stream = await deleteOldestEmptyOf(tx, { ...wish, gone });
  if (stream === null) return false;
  tellRemoval({ emit, audit }, { workspace, stream }, { by, removed: 0 });
  return true;
}

function tellRemoval(
  { emit, audit }: Pick<Removal, 'emit' | 'audit'>,
  place: StreamPlace,
  { by, removed }: { readonly by: string; readonly removed: number },
): void {
  const { workspace, stream } = place;
  const { parties, ...where } = hearersOf(place);
  emit({ name: 'stream:deleted', ...where, payload: { stream, by, removed, parties } });
  audit({ event: 'stream:deleted', workspace, data: { stream, removed, by } });
}
