/** A service asks for somebody who called it: the brain judges as if that one had called here. */
import type { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Bearer } from '@svc/contract/operations.brain-files.ts';
import type { Handlers, OperationContext } from '@svc/runtime/operations.ts';
import type { BrainDeps } from '../deps.ts';
import { type CallContext, resolveTarget, type Target } from '../tools/target.ts';

export type FileHandlers<Name extends keyof typeof BRAIN.declared> = Pick<Handlers<typeof BRAIN, BrainDeps>, Name>;
export type Asked = OperationContext<BrainDeps>;

interface AskedPlace {
  readonly on: Bearer;
  readonly brain: string | null;
  readonly branch: string | null;
}

export function callOf(on: Bearer, { deps, deadlineAt }: Asked): CallContext {
  return {
    deps,
    caller: { ...on, principal: '', requestId: '', deadlineAt },
    now: deps.clock.now(),
    repeatable: true,
    idempotency: null,
    markReplayed() {},
  };
}

export function targetOf(call: CallContext, { brain, branch }: AskedPlace): Promise<Target> {
  return resolveTarget(call, { brain: brain ?? undefined, branch: branch ?? undefined });
}
