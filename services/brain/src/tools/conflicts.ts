/** What merges and syncs left open (ours). */
import { z } from 'zod';
import { neverDenied } from '@svc/contract/decision.ts';
import {
  brainAndBranch,
  FileContent,
  ifMatch,
  leaseGuard,
  page,
  PlainText,
  TimestampMs,
} from '@svc/contract/params.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../deps.ts';
import { listConflicts, readConflict, resolveConflict } from '../operations/conflicts.ts';
import { cursorAfter, nextCursor } from './results.ts';
import { READ_RAISES, resolveTarget, resolveWrite, settled, WRITE_RAISES, WRITE_REFUSES } from './target.ts';

const conflictHead = {
  id: z.string(),
  file: z.string(),
  kind: z
    .string()
    .describe('content, delete-modify, directory-file, foreign, or in-the-way: something uncommitted lies there.'),
  rescue: z.string().nullable().describe('Both commits: at: rescue/<this>/ours and .../theirs.'),
  at: TimestampMs,
  resolvedAt: TimestampMs.nullable(),
};
const blob = z.string().nullable().describe('Blob id; null without such a file, or with hidden fields.');
const ConflictId = z.string().regex(/^cfl_[0-9A-Za-z_-]{1,64}$/, 'must be the id of a conflict');

/** Conflicts are about files of every name, also such as are not served. */
const AnyPath = PlainText.min(1).max(4096);

const list = defineTool({
  name: 'svc_conflicts',
  area: 'branches',
  description: 'Lists the open conflicts that merges and syncs left on a branch (ours), or the settled ones.',
  input: z.strictObject({
    file: AnyPath.optional().describe('Of this file only, by its whole path.'),
    resolved: z.boolean().optional().describe('The settled ones instead.'),
    ...brainAndBranch,
    ...page,
  }),
  output: z.strictObject({
    conflicts: z.array(z.strictObject({ ...conflictHead, base: blob, ours: blob, theirs: blob })),
    brain: z.string(),
    branch: z.string(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler({ file, resolved = false, limit, cursor, ...wish }, context) {
    const { ask, brain, branch } = await resolveTarget(context, wish);
    const path = file?.normalize('NFC') ?? null;
    const question = { branch, file: path, resolved, ...positionOf(limit, cursor) };
    const { conflicts, next } = await ask(listConflicts, question);
    return { conflicts: [...conflicts], brain, branch, ...cursorAfter(next) };
  },
});

const side = z
  .strictObject({
    text: z.string().nullable().describe('Null when it is not text of at most 1 MiB, or not kept any more.'),
    bytes: z.int().nullable(),
  })
  .nullable()
  .describe('Null when that side has no such file.');

const read = defineTool({
  name: 'svc_conflict_read',
  area: 'branches',
  description: 'Shows the texts of a conflict (ours): the common past, our side and their side.',
  input: z.strictObject({ id: ConflictId, brain: brainAndBranch.brain }),
  output: z.strictObject({
    ...conflictHead,
    brain: z.string(),
    branch: z.string(),
    base: side,
    ours: side,
    theirs: side,
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_NOT_FOUND'],
  raises: READ_RAISES,
  async handler({ id, brain: wanted }, context) {
    const { ask, brain } = await resolveTarget(context, { brain: wanted });
    const { base, ours, theirs, ...row } = context.take(await ask(readConflict, { id }));
    const copy = (one: typeof base) => (one === null ? null : { ...one });
    return { ...row, brain, base: copy(base), ours: copy(ours), theirs: copy(theirs) };
  },
});

const resolve = defineTool({
  name: 'svc_conflict_resolve',
  area: 'branches',
  description:
    'Settles a conflict (ours): writes our side, theirs or a content of yours, uncommitted, or (merged) keeps the file as it is. Any later write to the file settles its conflicts too.',
  input: z
    .strictObject({
      id: ConflictId,
      take: z.enum(['ours', 'theirs', 'merged', 'content']),
      content: FileContent.optional().describe('With take: content.'),
      ...ifMatch,
      brain: brainAndBranch.brain,
      ...leaseGuard,
    })
    .refine(({ take, content }) => (take === 'content') === (content !== undefined), {
      path: ['content'],
      message: 'is needed with take "content", and with no other',
    }),
  output: z.strictObject({
    resolved: z.literal(true),
    id: z.string(),
    file: z.string(),
    changed: z.boolean(),
    hash: z.string().nullable().describe('Null when nothing was written, or the file is gone.'),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...WRITE_REFUSES, 'E_NOT_FOUND', 'E_NOT_TEXT', 'E_CONFLICT'],
  raises: WRITE_RAISES,
  dress: { resolved: false },
  async handler({ id, take, content, ifMatch: expected, ...wish }, context) {
    const { ask, brain } = await resolveWrite(context, wish);
    const op = {
      id,
      take,
      content: content ?? null,
      ifMatch: expected ?? null,
    };
    // What is to go and is gone is settled.
    const outcome = context.take(neverDenied(settled(context, await ask(resolveConflict, op)), 'E_FILE_ABSENT'));
    return { resolved: true as const, brain, ...outcome };
  },
});

export const conflictTools = [list, read, resolve];
