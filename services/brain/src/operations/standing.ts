/**
 * Whose rows are meant when a call is about a brain and about none of its files: judged where all else about the brain
 * is, so that who may not see it, or not change it, is answered like everywhere.
 */
import { z } from 'zod';
import { defineOperation } from './operation.ts';

const Standing = z.strictObject({
  /** The brain's own for as long as it lives, whatever it is called. */
  id: z.string(),
});

const declared = { question: z.strictObject({}), answer: Standing, effect: 'read', namesCommits: false } as const;

/** Throws BRAIN_LOAD_FAIL to whom the brain is none. */
export const identify = defineOperation({
  ...declared,
  name: 'identify',
  run: async ({ brain }) => ({ id: brain.context.homes.home.id }),
});

/** Throws RLS_DENIED, too, to whom may not change what belongs to the brain as a whole. */
export const identifyToChange = defineOperation({
  ...declared,
  name: 'identifyToChange',
  needs: 'change',
  run: async ({ brain }) => ({ id: brain.context.homes.home.id }),
});
