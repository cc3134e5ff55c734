/** What becomes of items whose leases are over. */
import { fallAll, lockExpired } from './claim-rows.ts';
import { tell, type Told } from './telling.ts';
import { type LockedWork, lockWorks } from './work-rows.ts';

/** Of all queues, some; returns of how many. */
export async function expire(unit: Told): Promise<number> {
  return expired(unit, null);
}

/** Of one queue, or of all (null). An item that is given up is offered at once, or dead after its last attempt. */
export async function expired(unit: Told, streamId: string | null): Promise<number> {
  const workIds = await lockExpired(unit.tx, streamId);
  if (workIds.length === 0) return 0;
  const all = [...(await lockWorks(unit.tx, workIds)).values()];
  const isLast = ({ work, options }: LockedWork): boolean => work.attempts >= options.maxAttempts;
  const fallen = all.map((locked) => ({
    workId: locked.work.id,
    status: isLast(locked) ? ('dead' as const) : ('pending' as const),
  }));
  await fallAll(unit.tx, fallen, { reason: 'lease expired' });
  await unit.report(...all.filter(isLast));
  for (const locked of all) {
    const { work, now } = locked;
    const { attempts } = work;
    if (isLast(locked)) tell(unit, locked, 'stream:dead', { attempts });
    else tell(unit, locked, 'stream:failed', { attempts, retryAt: now });
  }
  return workIds.length;
}
