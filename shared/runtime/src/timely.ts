/** Changes that would come late. */
import { LateCall } from '@svc/contract/codes.ts';
import type { Platform } from './platform.ts';

type Judging = Pick<Platform, 'bus' | 'clock'>;

/** `since`: when the call came to this process, in ms since the epoch. */
interface InHand {
  readonly since: number;
  readonly repeatable: boolean;
}

/** The clock tells whole milliseconds: what came just after a standstill must not seem to have come before it ended. */
const TICK_MS = 1;

/** Whether this process stood still while it had that in hand, so that another one may have been sent it. */
export function stoodStillWith({ bus, clock }: Judging, { since, repeatable }: InHand): boolean {
  return bus.sinceGivenUpMs(repeatable) + TICK_MS <= clock.now() - since;
}

/**
 * While this process stood still, what it had in hand may have been sent to another one and done there, and other changes
 * after it. To be asked before anything is done; throws LateCall.
 */
export function assertTimely(platform: Judging, inHand: InHand): void {
  if (stoodStillWith(platform, inHand)) throw new LateCall();
}
