/** What is told of a brain that could not be asked, in the answers that are about several. */
import { CALL_ERRORS, CallError, Refusal } from '@svc/contract/codes.ts';
import type { BrainProblem } from '../writer/context.ts';
import type { CallContext } from './target.ts';

export function brainProblem({ deps }: Pick<CallContext, 'deps'>, brain: string, error: unknown): BrainProblem {
  if (error instanceof CallError || error instanceof Refusal) return { code: error.code, text: error.message };
  // A bug, but one brain's: the others are still asked.
  deps.log.error({ err: error, brain }, 'a brain could not be asked');
  return { code: 'INTERNAL', text: CALL_ERRORS.INTERNAL.meaning };
}
