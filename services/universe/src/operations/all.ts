/** What the universe does for other services. */
import type { UNIVERSE } from '@svc/contract/operations.universe.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { UniverseDeps } from '../deps.ts';

export const universeOperations: Handlers<typeof UNIVERSE, UniverseDeps> = {
  async fillInbox(task, { deps, deadlineAt }) {
    const call = { caller: { subject: {}, operator: false, deadlineAt }, idempotency: null };
    await deps.inboxes.deliver(call, task);
    return {};
  },
};
