/** Changes that would come late. */
import { LateCall } from '@svc/contract/codes.ts';
import type { Platform } from './platform.ts';

/** `since`: when the call came to this process, in ms since the epoch. */
interface InHand {
  readonly since: number;
  readonly repeatable: boolean;
}

/**
 * While this process stood still, what it had in hand may have been sent to another one and done there, and other changes
 * after it. To be asked before anything is done; throws LateCall.
 */
export function assertTimely({ bus, clock }: Pick<Platform, 'bus' | 'clock'>, { since, repeatable }: InHand): void {
  if (bus.sinceGivenUpMs(repeatable) <= clock.now() - since) throw new LateCall();
}
