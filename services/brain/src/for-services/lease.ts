/** The lease of a brain, held by a service for as long as one piece of its work takes. */
import { allow, deny } from '@svc/contract/decision.ts';
import { Refusal } from '@svc/contract/codes.ts';
import { requireWriter } from '../tools/target.ts';
import { giveBackLease, holdLease } from '../operations/service-lease.ts';
import { callOf, type FileHandlers, targetOf } from './bearer.ts';

export const leaseOperations: FileHandlers<'holdLease' | 'giveBackLease'> = {
  async holdLease({ lease, holder, ttlMs, ...place }, asked) {
    const call = callOf(place.on, asked);
    requireWriter(call.caller);
    const { ask, brain, branch, type } = await targetOf(call, place);
    if (type === 'public') throw new Refusal('E_READ_ONLY', { brain });
    const held = await ask(holdLease, { session: lease, holder, ttlMs });
    if (!held.ok) return deny(held.code, held.details);
    const { isOwn, fence } = held.value;
    return allow({ brain, branch, lease: isOwn ? lease : null, fence });
  },

  async giveBackLease({ lease, ...place }, asked) {
    const { ask } = await targetOf(callOf(place.on, asked), place);
    return ask(giveBackLease, { session: lease });
  },
};
