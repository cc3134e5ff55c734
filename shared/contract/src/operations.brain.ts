/** What the brain tells other services. */
import { z } from 'zod';
import { AgentIdText, WorkspaceName } from './names.ts';
import { type Answer, defineOperations } from './operation.ts';
import { BRAIN_FILES } from './operations.brain-files.ts';
import { BRAIN_REMOTES } from './operations.brain-remotes.ts';
import { PlainText } from './params.ts';
import { OutsideSystem, REACH_REFUSES, Reached } from './outside.ts';

export const BRAIN = defineOperations('brain', {
  ...BRAIN_FILES,
  ...BRAIN_REMOTES,
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
  /**
   * A note about what the asker has decided, in the default brain, whoever may write there, for those who hold a role in
   * the workspace. The same id again has the first answer and is noted once.
   */
  noteResolution: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({
      id: z.string().regex(/^res_[0-9a-f]{32}$/),
      file: PlainText.min(1).max(200),
      change: PlainText.min(1).max(4000),
      changedBy: AgentIdText,
      workspace: WorkspaceName,
    }),
    answer: z.strictObject({ id: z.string(), at: z.number() }),
    refuses: ['E_QUOTA'],
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
  /** Where brains sync to, and who makes vectors for them. `failing`: remotes that are not asked for a while. */
  outside: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({}),
    answer: z.strictObject({
      systems: z.array(OutsideSystem),
      sync: z.strictObject({ remotes: z.int(), failing: z.array(z.string()) }),
    }),
  },
  /** Tries to reach one of those systems, or a remote that brains sync with. */
  reach: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({
      system: z.enum(['remote-host', 'embedder', 'remote']),
      remote: z.string().max(64).optional(),
    }),
    answer: Reached,
    refuses: REACH_REFUSES,
  },
});

export type BrainAnswer<Name extends keyof typeof BRAIN.declared> = Answer<typeof BRAIN, Name>;
