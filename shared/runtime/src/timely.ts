/** Changes that would come late. */
import { CallError } from '@svc/contract/codes.ts';
import type { Platform } from './platform.ts';

const RETRY_AFTER_MS = 50;

/**
 * While this process stood still, what it had in hand may have been sent to another one and done there, and other changes
 * after it. `since`: when the call came to this process, in ms since the epoch. To be asked before anything is done; throws
 * SERVICE_UNAVAILABLE.
 */
export function assertTimely({ bus, clock }: Pick<Platform, 'bus' | 'clock'>, since: number): void {
  if (bus.sinceStandstillMs > clock.now() - since) return;
  throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: RETRY_AFTER_MS });
}
