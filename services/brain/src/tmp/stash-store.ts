/** What the members of a workspace laid aside for each other: the newest few, until somebody clears them. */
import { allow } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { epochMs, NOW_AS_KEPT } from '@svc/runtime/sql-time.ts';
import type { ChangeCall, ServiceStore } from '@svc/runtime/store.ts';
import { lockNames } from '../store/name-lock.ts';
import { STASHES_KEPT } from './domain/quota.ts';
import { isKeeper, type Member } from './domain/space.ts';

/** `at` in ms since the epoch. */
interface StashEntry {
  readonly id: string;
  readonly by: string;
  readonly at: number;
}

interface Stash {
  /** Of the newest; null = there is none. */
  readonly data: string | null;
  /** Newest first. */
  readonly entries: readonly StashEntry[];
}

const NEWEST_FIRST = 'ORDER BY at DESC, id DESC';

export class TmpStash {
  readonly #store: ServiceStore;
  readonly #ids: Ids;

  constructor(store: ServiceStore, ids: Ids) {
    this.#store = store;
    this.#ids = ids;
  }

  async read({ workspace }: Pick<Member, 'workspace'>): Promise<Stash> {
    const rows = await this.#store.client.$queryRawUnsafe<(StashEntry & { data: string | null })[]>(
      `SELECT id, "by", ${epochMs('at')} AS at, CASE WHEN row_number() OVER (${NEWEST_FIRST}) = 1 THEN data END AS data
       FROM brain.brain_stash WHERE workspace = $1 ${NEWEST_FIRST}`,
      workspace,
    );
    return { data: rows[0]?.data ?? null, entries: rows.map(({ id, by, at }) => ({ id, by, at })) };
  }

  /** `data`: JSON. Beyond so many the oldest goes. */
  add(call: ChangeCall, member: Member, data: string): Promise<Once<StashEntry, never>> {
    const { workspace, actor: by } = member;
    return this.#store.change(call, async ({ tx, emit }) => {
      await lockNames(tx, [`stash of ${workspace}`]);
      const id = this.#ids.next('sth');
      const [added] = await tx.$queryRawUnsafe<{ at: number }[]>(
        `INSERT INTO brain.brain_stash (id, workspace, data, "by", at) VALUES ($1, $2, $3, $4, ${NOW_AS_KEPT})
         RETURNING ${epochMs('at')} AS at`,
        id,
        workspace,
        data,
        by,
      );
      if (added === undefined) throw new Error('nothing was laid aside');
      await tx.$executeRawUnsafe(
        `DELETE FROM brain.brain_stash WHERE workspace = $1 AND id <> $2 AND id IN (
           SELECT id FROM brain.brain_stash WHERE workspace = $1 ORDER BY id = $2 DESC, at DESC, id DESC OFFSET $3)`,
        workspace,
        id,
        STASHES_KEPT,
      );
      emit({ name: 'tmp:put', payload: { workspace, space: 'stash', name: id, by, parties: [`ws:${workspace}`] } });
      return allow({ id, by, at: added.at });
    });
  }

  /** The member's own; whoever keeps the workspace clears everything. Returns how many. */
  clear(call: ChangeCall, member: Member): Promise<Once<number, never>> {
    const { workspace, actor: by } = member;
    return this.#store.change(call, async ({ tx, emit }) => {
      const count = await tx.$executeRawUnsafe(
        'DELETE FROM brain.brain_stash WHERE workspace = $1 AND ($2 OR "by" = $3)',
        workspace,
        isKeeper(member),
        by,
      );
      const parties = [`ws:${workspace}`];
      if (count > 0) emit({ name: 'tmp:cleared', payload: { workspace, space: 'stash', count, by, parties } });
      return allow(count);
    });
  }
}
