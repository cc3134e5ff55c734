/** What a call about several brains answered as a whole: each of its parts takes effect, and is stored, by itself. */
import { allow } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';

export type SyncStore = ReturnType<typeof createSyncStore>;

export function createSyncStore(
  { client, idempotency, transact }: Pick<ServiceStore, 'client' | 'idempotency' | 'transact'>,
  clock: Clock,
) {
  return {
    /** Milliseconds since the epoch. */
    now: () => clock.now(),
    /** Null = nothing is known of the call. */
    answered: <Answer>(scope: IdempotencyScope | null): Promise<Once<Answer, never>['decision'] | null> =>
      idempotency.find<Answer, never>(client, scope),
    /** The answer, or that of a twin that came first. */
    keep: <Answer>(scope: IdempotencyScope | null, answer: Answer): Promise<Once<Answer, never>> =>
      transact((transaction) => idempotency.once<Answer, never>(transaction, scope, async () => allow(answer))),
  };
}
