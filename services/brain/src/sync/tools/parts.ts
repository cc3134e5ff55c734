/** Work on several brains or branches in one call: each part has its share of the time and an outcome of its own. */
import { z } from 'zod';
import { CallError, Refusal, type RefusalCode } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import type { AskedBrain } from '../../brain/brain-router.ts';
import { type CallContext, type Guard, opContext } from '../../tools/target.ts';
import { secondStep } from '../../writer/context.ts';

export const FailedPart = z.strictObject({
  brain: z.string(),
  branch: z.string().nullable().describe('Null when it is about the whole brain.'),
  remote: z.string().nullable().describe('Null when no remote was asked.'),
  error: z.string(),
  code: z.string(),
});
export type FailedPart = z.output<typeof FailedPart>;
type Place = Pick<FailedPart, 'brain' | 'branch' | 'remote'>;

/** Of what is left of the call when `partsLeft` parts share it. */
export interface PartWish {
  readonly brain: string;
  readonly step: string;
  readonly partsLeft: number;
  readonly guard?: Guard;
}

export function partOf(context: CallContext, { brain, step, partsLeft, guard }: PartWish): AskedBrain {
  const op = opContext(context, guard);
  const now = context.deps.syncs.now();
  const deadlineAt = now + Math.max(0, (op.deadlineAt - now) / partsLeft);
  return context.deps.router.brain(brain, { ...secondStep(op, step), deadlineAt });
}

export type Part<Value> = { readonly value: Value } | { readonly failed: FailedPart };

/** What fails here does not keep the other parts from their turn; a bug does. */
export async function tryPart<Value>(
  place: Place,
  work: () => Promise<Decision<Value, RefusalCode>>,
): Promise<Part<Value>> {
  try {
    const decision = await work();
    if (decision.ok) return { value: decision.value };
    throw new Refusal(decision.code, decision.details, decision.message);
  } catch (error) {
    const isExpected = error instanceof Refusal || (error instanceof CallError && error.code !== 'INTERNAL');
    if (!isExpected) throw error;
    return { failed: { ...place, error: error.message, code: error.code } };
  }
}

/** Nothing succeeded: why, in one code where all parts have the same and it is among `codes`. */
export function refusalOfNone(results: readonly FailedPart[], codes: readonly RefusalCode[]): Refusal {
  const [first, ...others] = results;
  const code = codes.find((shared) => shared === first?.code);
  if (first === undefined || code === undefined || others.some((part) => part.code !== code))
    return new Refusal('E_SYNC_FAILED', { results });
  return new Refusal(code, { results }, first.error);
}
