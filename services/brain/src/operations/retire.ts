/** Takes a brain from its name: to another one, or to the deleted ones. Who may is judged before. */
import { z } from 'zod';
import { RETIRE_REFUSALS, Retired } from '../brain/retirement.ts';
import { defineOperation, once } from './operation.ts';

export const retire = defineOperation({
  name: 'retire',
  effect: 'write',
  needs: 'change',
  namesCommits: false,
  /** `to` null = it is deleted. */
  question: z.strictObject({ to: z.string().nullable() }),
  answer: once(Retired, RETIRE_REFUSALS),
  run: (served, { to }) => served.retire({ context: served.context, to }),
});
