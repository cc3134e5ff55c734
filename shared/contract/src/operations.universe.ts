/** What the universe does for other services. */
import { z } from 'zod';
import { SubjectId } from './names.ts';
import { defineOperations } from './operation.ts';

export const UNIVERSE = defineOperations('universe', {
  /**
   * A task in the inbox of its agent, once however often it is told. `failed`: it is over, for this reason; one that is
   * told so before it came is there as over.
   */
  fillInbox: {
    effect: 'write-idempotent',
    askers: ['habitat'],
    question: z.strictObject({
      taskId: z.string().min(1).max(128),
      agentId: SubjectId,
      task: z.string().min(1).max(4096),
      failed: z.string().max(200).nullable(),
    }),
    answer: z.strictObject({}),
  },
});
