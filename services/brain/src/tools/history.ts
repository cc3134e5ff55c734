/** What happened in a brain, and what differs between two of its states. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { at, brainAndBranch, CommitId, page, PathText, TimestampMs } from '@svc/contract/params.ts';
import { encodeCursor } from '@svc/contract/params.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { checkedPath } from '../blocked-path.ts';
import { defineTool } from '../deps.ts';
import { readDiff } from '../operations/diff.ts';
import { readHistoryPage } from '../operations/history.ts';
import { cursorAfter, dirtyFile, nextCursor } from './results.ts';
import { PATH_RAISES, READ_REFUSES, resolveTarget } from './target.ts';

const state = z.string().min(1).max(100).optional();

const history = defineTool({
  name: 'svc_history',
  area: 'core',
  description: 'Lists the commits of a branch, or who changed a file, newest first (ours; renames are not followed).',
  input: z.strictObject({ file: PathText.optional(), ...brainAndBranch, ...at, ...page }),
  output: z.strictObject({
    history: z.array(
      z.strictObject({
        commit: CommitId,
        parents: z.array(CommitId).describe('Two or more of a merge.'),
        author: z.string(),
        agent: z.string().optional(),
        at: TimestampMs,
        message: z.string(),
        files: z.array(dirtyFile).describe('The first 100, against the first parent.'),
        count: z.int().describe('Files that it changed.'),
      }),
    ),
    file: z.string().nullable(),
    brain: z.string(),
    branch: z.string(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: [...PATH_RAISES, 'VAF_INPUT_INVALID'],
  aliases: { name: 'file', path: 'file' },
  example: { file: 'learnings/first' },
  async handler({ file, limit, cursor, at: past, ...wish }, context) {
    const { ask, brain, branch } = await resolveTarget(context, wish);
    const position = positionOf(limit, cursor);
    const answer = await ask(readHistoryPage, {
      branch,
      path: file === undefined ? null : checkedPath(file),
      limit: position.limit,
      ...startOf(position.after, past ?? null),
    });
    const { rows, tip, next } = context.take(answer);
    const more = next === null ? {} : { nextCursor: encodeCursor(`${tip} ${next}`) };
    const shown = rows.map((row) => ({ ...row, parents: [...row.parents], files: [...row.files] }));
    return { history: shown, file: file ?? null, brain, branch, ...more };
  },
});

/** A page goes on where the one before ended, whatever was committed meanwhile. */
function startOf(after: string | null, at: string | null): { at: string | null; start: number } {
  if (after === null) return { at, start: 0 };
  const [, tip, start] = /^([0-9a-f]{40}) (\d{1,9})$/.exec(after) ?? [];
  if (tip === undefined) throw new CallError('VAF_INPUT_INVALID', 'cursor: is not one of this list');
  return { at: tip, start: Number(start) };
}

const MAX_DIFF_BYTES = 1024 * 1024;
const DEFAULT_DIFF_BYTES = 256 * 1024;

const diff = defineTool({
  name: 'svc_diff',
  area: 'core',
  description:
    'Shows what differs between two states of a branch, by default what is uncommitted, as unified diffs (ours).',
  input: z.strictObject({
    file: PathText.optional(),
    from: state.describe('Earlier state, as for at; default: the last commit of the branch.'),
    to: state.describe('Later state, as for at; default: the files as they are now.'),
    bytes: z
      .int()
      .min(0)
      .max(MAX_DIFF_BYTES)
      .optional()
      .describe(`Of all patches together, default ${DEFAULT_DIFF_BYTES}; 0 = only the list.`),
    ...brainAndBranch,
    ...page,
  }),
  output: z.strictObject({
    files: z.array(
      z.strictObject({
        file: z.string(),
        change: z.enum(['added', 'modified', 'deleted']),
        added: z.int().nullable().describe('Lines; null when it is not text.'),
        removed: z.int().nullable(),
        patch: z.string().nullable().describe('Unified diff of the text as it is shown.'),
        truncated: z.boolean().describe('Hunks are missing, because of bytes.'),
      }),
    ),
    fromCommit: CommitId,
    toCommit: CommitId.nullable().describe('null = the files as they are now.'),
    brain: z.string(),
    branch: z.string(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: PATH_RAISES,
  aliases: { name: 'file', path: 'file' },
  example: {},
  async handler({ file, from, to, bytes = DEFAULT_DIFF_BYTES, limit, cursor, ...wish }, context) {
    const { ask, brain, branch } = await resolveTarget(context, wish);
    const answer = await ask(readDiff, {
      branch,
      path: file === undefined ? null : checkedPath(file),
      from: from ?? null,
      to: to ?? null,
      bytes,
      ...positionOf(limit, cursor),
    });
    const { rows, next, fromCommit, toCommit } = context.take(answer);
    return { files: [...rows], fromCommit, toCommit, brain, branch, ...cursorAfter(next) };
  },
});

export const historyTools = [history, diff];
