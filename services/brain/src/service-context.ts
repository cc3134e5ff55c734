import type { OpContext } from './writer/context.ts';

/** As whom the service itself acts. Times in ms since the epoch. */
export function serviceContext(since: number, deadlineAt: number): OpContext {
  return {
    actor: 'service',
    subject: {},
    session: '0'.repeat(64),
    verifiedAgent: null,
    declaredAgent: null,
    fence: null,
    since,
    deadlineAt,
    repeatable: true,
    idempotency: null,
    registry: null,
    operator: false,
    isService: true,
  };
}
