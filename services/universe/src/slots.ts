/**
 * How many runs there are at once: in all, of one workspace, and of one family, which may have many workspaces. Nobody waits:
 * there is a place, or there is none.
 */
import { CallError } from '@svc/contract/codes.ts';

interface SlotLimits {
  readonly atOnce: number;
  readonly atOnceOfWorkspace: number;
  readonly atOnceOfFamily: number;
}

/** For whom something runs. `family` null = an operator. */
export interface Tenant {
  readonly workspace: string;
  readonly family: string | null;
}

const RETRY_AFTER_MS = 1000;
const ALL_TAKEN = 'As many of these go on at once as may; try again when one is over.';

/** Throws RATE_LIMITED when all places are taken. */
type InSlot = <Value>(tenant: Tenant, work: () => Promise<Value>) => Promise<Value>;

export function createSlots({ atOnce, atOnceOfWorkspace, atOnceOfFamily }: SlotLimits): InSlot {
  const ofWorkspaces = createPlaces(atOnceOfWorkspace);
  const ofFamilies = createPlaces(atOnceOfFamily);
  let inAll = 0;
  return async ({ workspace, family }, work) => {
    if (inAll >= atOnce || ofWorkspaces.isFull(workspace) || ofFamilies.isFull(family)) {
      throw new CallError('RATE_LIMITED', ALL_TAKEN, { retryAfterMs: RETRY_AFTER_MS });
    }
    const add = (count: 1 | -1): void => {
      inAll += count;
      ofWorkspaces.add(workspace, count);
      ofFamilies.add(family, count);
    };
    add(1);
    try {
      return await work();
    } finally {
      add(-1);
    }
  };
}

/** So many of each name; null = of nobody who is counted. */
export function createPlaces(limit: number) {
  const taken = new Map<string, number>();
  return {
    isFull: (name: string | null): boolean => name !== null && (taken.get(name) ?? 0) >= limit,
    add(name: string | null, count: 1 | -1): void {
      if (name === null) return;
      const now = (taken.get(name) ?? 0) + count;
      if (now === 0) taken.delete(name);
      else taken.set(name, now);
    },
  };
}
