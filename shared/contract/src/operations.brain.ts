/** What the brain tells other services. */
import { z } from 'zod';
import { type Answer, defineOperations } from './operation.ts';

export const BRAIN = defineOperations('brain', {
  /** Of the brains in this data directory; null = an import of an older layout is not finished. */
  layout: {
    effect: 'read',
    askers: ['habitat'],
    question: z.strictObject({}),
    answer: z.strictObject({ version: z.int().nullable() }),
  },
  /**
   * Of a brain, a file in one, or an island. Workspaces: `own` = where the thing itself is at home, `brain` = where the
   * brain is that it lies in; null = nowhere.
   */
  home: {
    effect: 'read',
    askers: ['habitat'],
    question: z.strictObject({ resource: z.string().max(640) }),
    answer: z.strictObject({ own: z.string().nullable(), brain: z.string().nullable() }),
  },
  /** Under which address a text is found, on every node. */
  address: {
    effect: 'read',
    askers: ['habitat'],
    question: z.strictObject({ text: z.string().max(1000) }),
    answer: z.strictObject({ barcode: z.string() }),
  },
  /**
   * Markdown directly in the category `agents` that everybody may read: the beginning of each, or the one of that name
   * whole. Names are without category and extension.
   */
  prototypes: {
    effect: 'read',
    askers: ['habitat'],
    question: z.strictObject({ name: z.string().max(255).optional() }),
    answer: z.strictObject({ files: z.array(z.strictObject({ name: z.string(), content: z.string() })) }),
  },
});

export type BrainAnswer<Name extends keyof typeof BRAIN.declared> = Answer<typeof BRAIN, Name>;
