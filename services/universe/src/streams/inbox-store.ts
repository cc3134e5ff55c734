/** Inboxes of agents: filled by whoever delegates, who is told what becomes of each task, once for each key of theirs. */
import { allow } from '@svc/contract/decision.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { UniverseStore, Work } from '../universe-store.ts';
import { DEFAULT_OPTIONS, inboxOf } from './domain/stream.ts';
import { isClosed } from './domain/work.ts';
import { markReported, readUnreported, sweepEmpty, type Unreported } from './inbox-rows.ts';
import { put } from './put.ts';
import { tell } from './telling.ts';
import { findByKeys, type LockedWork, lockWork, updateWork } from './work-rows.ts';

export type InboxStore = ReturnType<typeof createInboxStore>;

/** An item of an inbox, as whoever put it there names it. */
interface InboxItem {
  readonly agentId: string;
  readonly key: string;
}

interface DelegatedTask {
  readonly taskId: string;
  readonly agentId: string;
  readonly task: string;
  /** Why it is over already; null = it is to be done. */
  readonly failed: string | null;
}

/** As whom it is recorded that an inbox was made. */
const REGISTRY = 'habitat';

export function createInboxStore({ client, change }: UniverseStore, ids: Ids) {
  /** In the caller's own transaction; put there again it is the item that is there. */
  const putItem = async (
    unit: Work,
    { agentId, key, task }: InboxItem & { task: unknown },
  ): Promise<{ id: string }> => {
    const wish = { ...inboxOf(agentId), by: REGISTRY, family: null, implicit: true, options: DEFAULT_OPTIONS };
    const works = [{ workId: ids.next('wrk'), key, task, delayMs: 0 }];
    const made = await put(unit, wish, works, ids);
    if (!made.ok) throw new Error('an inbox counts against no quota');
    const { decisions, insertion } = made.value;
    const [filled] = decisions;
    if (filled?.ok !== true) throw new Error('an inbox holds more than an agent may have to do');
    if (insertion !== null) await unit.tx.$executeRawUnsafe(insertion.sql, ...insertion.values);
    return { id: filled.value.id };
  };
  return {
    put: putItem,
    complete,
    fail,
    async deliver(call: ChangeCall, { taskId: key, agentId, task, failed }: DelegatedTask): Promise<void> {
      await change<null>(
        call,
        async (unit) => {
          await putItem(unit, { agentId, key, task });
          if (failed !== null) await fail(unit, { agentId, key, error: { reason: failed } });
          return allow(null);
        },
        { inTurnOf: `stream ${inboxOf(agentId).stream}` },
      );
    },
    unreported: (limit: number) => readUnreported(client, limit),
    markReported: (report: Unreported) => markReported(client, report),
    async sweep(): Promise<void> {
      while ((await sweepEmpty(client)) > 0);
    },
  };
}

/** By whoever put it there, whoever holds it now; what is over stays as it is. */
async function complete(unit: Work, { result, ...item }: InboxItem & { result: unknown }): Promise<void> {
  const locked = await lockOpen(unit, item);
  if (locked === null) return;
  const { id, attempts, agentId } = locked.work;
  await updateWork(unit.tx, id, { status: 'completed', attempts, agentId, result });
  tell(unit, locked, 'stream:completed', { agentId: item.agentId });
}

/** The same, for good: it is dead, however many attempts were left. */
async function fail(unit: Work, { error, ...item }: InboxItem & { error: unknown }): Promise<void> {
  const locked = await lockOpen(unit, item);
  if (locked === null) return;
  const { id, attempts } = locked.work;
  await updateWork(unit.tx, id, { status: 'dead', attempts, error });
  tell(unit, locked, 'stream:dead', { attempts });
}

async function lockOpen({ tx }: Work, { agentId, key }: InboxItem): Promise<LockedWork | null> {
  const found = (await findByKeys(tx, inboxOf(agentId), [key])).get(key);
  const locked = found === undefined ? null : await lockWork(tx, found.id);
  return locked === null || isClosed(locked.work) ? null : locked;
}
