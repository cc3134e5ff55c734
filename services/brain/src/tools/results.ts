/** Parts of results that several tools share. */
import { z } from 'zod';
import { encodeCursor } from '@svc/contract/params.ts';
import type { Pointer } from '../domain/stack.ts';

export const nextCursor = { nextCursor: z.string().optional() };

const stackEntry = z.strictObject({
  brain: z.string(),
  branch: z.string(),
  type: z.enum(['private', 'public']),
});
export const stackNames = z.array(z.string()).describe('Brains of the session, top first.');

/** Shown by every tool that moves the session's pointer. */
export const stackShown = { current: z.string(), stack: stackNames, entries: z.array(stackEntry) };

export const dirtyFile = z.strictObject({ file: z.string(), change: z.enum(['added', 'modified', 'deleted']) });

export const entryKind = z
  .enum(['text', 'large', 'binary', 'link', 'other'])
  .describe('text is served and searched; what else lies there is listed.');

/** What a commit leaves as it is. */
export const leftEntry = z.strictObject({
  file: z.string(),
  kind: entryKind,
  problem: z.string().describe('Why, as the end of a sentence.'),
});

export function shownStack({ stack }: Pointer) {
  return { current: stack[0].brain, stack: stack.map(({ brain }) => brain), entries: [...stack] };
}

/** For lists of which not the tool but the owner of the rows says where the page ended. */
export function cursorAfter(next: string | null): { nextCursor?: string } {
  return next === null ? {} : { nextCursor: encodeCursor(next) };
}
