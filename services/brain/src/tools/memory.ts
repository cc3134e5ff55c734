/** svc_get_memory, svc_set_memory and svc_commit: the three calls most agents live on. */
import { z } from 'zod';
import { neverDenied } from '@svc/contract/decision.ts';
import {
  CommitId,
  at,
  brainAndBranch,
  FileContent,
  ifMatch,
  leaseGuard,
  PathText,
  Sha256Hex,
  TimestampMs,
} from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import { commit as commitBranch } from '../operations/commit.ts';
import { changeFile } from '../operations/files.ts';
import { readFile } from './reading.ts';
import { dirtyFile } from './results.ts';
import {
  joinPath,
  PATH_RAISES,
  READ_REFUSES,
  resolveWrite,
  settled,
  splitPath,
  WRITE_RAISES,
  CHANGE_RAISES,
  COMMIT_REFUSES,
  WRITE_REFUSES,
} from './target.ts';

const address = {
  category: PathText.describe('Directory of the file, such as "learnings"; empty = the root of the brain.'),
  filename: PathText.describe('File name; without an extension, .md is meant.'),
};

const fileAlias = {
  file: {
    into: ['category', 'filename'],
    expand: (value: unknown) => (typeof value === 'string' ? splitPath(value) : null),
  },
};

const getMemory = defineTool({
  name: 'svc_get_memory',
  area: 'core',
  description: 'Reads a brain file by category and filename.',
  input: z.strictObject({ ...address, ...brainAndBranch, ...at }),
  output: z.strictObject({
    category: z.string(),
    filename: z.string(),
    file: z.string(),
    content: z.string(),
    bytes: z.int(),
    hash: Sha256Hex,
    brain: z.string(),
    branch: z.string(),
    commit: CommitId.nullable(),
    dirty: z.boolean(),
    modifiedAt: TimestampMs.nullable(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_FILE_ABSENT', 'E_NOT_TEXT'],
  raises: PATH_RAISES,
  aliases: fileAlias,
  example: { category: 'learnings', filename: 'first' },
  async handler({ category, filename, ...wish }, context) {
    const { view, brain } = context.take(await readFile(context, joinPath(category, filename), wish));
    return { ...splitPath(view.file), ...view, brain };
  },
});

const setMemory = defineTool({
  name: 'svc_set_memory',
  area: 'core',
  description: 'Writes a brain file by category and filename; the reply leaves when the bytes are durable.',
  input: z.strictObject({ ...address, content: FileContent, ...brainAndBranch, ...leaseGuard, ...ifMatch }),
  output: z.strictObject({
    saved: z.literal(true),
    success: z.literal(true),
    category: z.string(),
    filename: z.string(),
    file: z.string(),
    hash: Sha256Hex,
    bytes: z.int(),
    changed: z.boolean(),
    created: z.boolean(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [...WRITE_REFUSES, 'E_CONFLICT'],
  raises: WRITE_RAISES,
  aliases: fileAlias,
  example: { category: 'learnings', filename: 'first', content: 'Write things down.' },
  async handler({ category, filename, content, ...wish }, context) {
    const path = joinPath(category, filename);
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const change = { branch, path, content, ifMatch: wish.ifMatch ?? null };
    const { file, ...written } = context.take(
      neverDenied(settled(context, await ask(changeFile, change)), 'E_FILE_ABSENT'),
    );
    return { saved: true as const, success: true as const, ...splitPath(file), file, ...written, brain, branch };
  },
});

export const CommitMessage = z
  .string()
  .min(1)
  .max(10_000)
  .refine((text) => text.isWellFormed() && !text.includes('\0') && text.trim() !== '', { message: 'must be text' });

const commit = defineTool({
  name: 'svc_commit',
  area: 'core',
  description: 'Commits every uncommitted change of the branch.',
  input: z.strictObject({
    message: CommitMessage.describe('Commit message.'),
    ...leaseGuard,
    ...brainAndBranch,
  }),
  output: z.strictObject({
    committed: z.boolean(),
    status: z.enum(['committed', 'no-changes']),
    commit: CommitId,
    parent: CommitId.nullable(),
    message: z.string(),
    files: z.array(dirtyFile).describe('The first 1000.'),
    count: z.int(),
    author: z.string(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: COMMIT_REFUSES,
  raises: CHANGE_RAISES,
  example: { message: 'what I learned today' },
  async handler({ message, ...wish }, context) {
    const { ask, op, brain, branch } = await resolveWrite(context, wish);
    const outcome = context.take(settled(context, await ask(commitBranch, { branch, message, only: null })));
    const status = outcome.committed ? ('committed' as const) : ('no-changes' as const);
    return { ...outcome, files: [...outcome.files], status, author: op.actor, brain, branch };
  },
});

export const memoryTools = [getMemory, setMemory, commit];
