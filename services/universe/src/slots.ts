/** How many runs there are at once, in all and of one workspace. Nobody waits: there is a place, or there is none. */
import { CallError } from '@svc/contract/codes.ts';

interface SlotLimits {
  readonly atOnce: number;
  readonly atOnceOfWorkspace: number;
}

const RETRY_AFTER_MS = 1000;

/** Throws RATE_LIMITED when all places are taken. */
type InSlot = <Value>(workspace: string, work: () => Promise<Value>) => Promise<Value>;

export function createSlots({ atOnce, atOnceOfWorkspace }: SlotLimits): InSlot {
  const taken = new Map<string, number>();
  let inAll = 0;
  return async (workspace, work) => {
    const own = taken.get(workspace) ?? 0;
    if (own >= atOnceOfWorkspace || inAll >= atOnce) {
      throw new CallError('RATE_LIMITED', undefined, { retryAfterMs: RETRY_AFTER_MS });
    }
    taken.set(workspace, own + 1);
    inAll += 1;
    try {
      return await work();
    } finally {
      inAll -= 1;
      const left = (taken.get(workspace) ?? 1) - 1;
      if (left === 0) taken.delete(workspace);
      else taken.set(workspace, left);
    }
  };
}
