/** The end of a tool that changed something once. */
import type { CallErrorCode, RefusalCode } from '@svc/contract/codes.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { HabitatDeps } from '../deps.ts';

/** The value of a change, or its refusal thrown; the reply is marked when the outcome is a stored one. */
export function settled<Value, Code extends RefusalCode, Raises extends CallErrorCode>(
  context: Pick<ToolContext<HabitatDeps, Code, Raises>, 'markReplayed' | 'take'>,
  outcome: Once<Value, NoInfer<Code>>,
  shown?: Record<string, unknown>,
): Value {
  if (outcome.replayed) context.markReplayed();
  return context.take(outcome.decision, shown);
}
