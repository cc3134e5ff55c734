import type { OperationOf } from '@svc/contract/operation.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { HabitatDeps } from '../deps.ts';
import type { HabitatCall } from '../store/unit.ts';

/** What a family of operations of habitat is done by. */
export type HabitatHandlers<Name extends OperationOf<typeof HABITAT>> = Handlers<typeof HABITAT, HabitatDeps, Name>;

/** Nobody's call: the service that asks has judged whose wish it is, or tells what has happened. */
export function onBehalfOfNobody(deadlineAt: number): HabitatCall {
  return { caller: { subject: {}, operator: false, token: null, deadlineAt }, idempotency: null };
}
