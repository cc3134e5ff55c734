/** Branches of a brain. */
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { BrainName, BranchName } from '@svc/contract/names.ts';
import { brainAndBranch, CommitId, leaseGuard, page, TimestampMs } from '@svc/contract/params.ts';
import { isAnonymous } from '@svc/contract/subject.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { type BrainDeps, defineTool } from '../deps.ts';
import { switchBranch } from '../domain/stack.ts';
import { autoBranch } from '../operations/auto-branch.ts';
import { createBranch, listBranches, listChanged, openBranch, readDirty } from '../operations/branches.ts';
import { brainProblem } from './brain-problem.ts';
import { cursorAfter, dirtyFile, leftEntry, nextCursor, shownStack, stackNames } from './results.ts';
import {
  askEveryBrain,
  isGone,
  type CallContext,
  present,
  PRESENT_REFUSES,
  READ_RAISES,
  resolveTarget,
  resolveWrite,
  settled,
  CHANGE_RAISES,
  COMMIT_REFUSES,
} from './target.ts';

const list = defineTool({
  name: 'svc_list_branches',
  area: 'core',
  description: 'Lists the branches of a brain with their heads and what is uncommitted on them.',
  input: z.strictObject({ brain: BrainName.optional(), ...page }),
  output: z.strictObject({
    branches: z.array(
      z.strictObject({
        name: z.string(),
        current: z.boolean(),
        commit: CommitId,
        dirty: z.boolean(),
        changedFiles: z.int(),
        worktree: z.boolean().describe('Whether it has a working tree open.'),
        ahead: z
          .int()
          .nullable()
          .describe(
            'Commits the remote lacks; null without a remote, and where files that may not be read could be in some.',
          ),
        behind: z.int().nullable(),
        updatedAt: TimestampMs,
      }),
    ),
    names: z.array(z.string()),
    current: z.string(),
    brain: z.string(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const { ask, brain, branch: current } = await resolveTarget(context, wish);
    const { branches, next } = await ask(listBranches, positionOf(limit, cursor));
    const rows = branches.map((row) => ({ ...row, current: row.name === current }));
    return { branches: rows, names: rows.map(({ name }) => name), current, brain, ...cursorAfter(next) };
  },
});

const create = defineTool({
  name: 'svc_create_branch',
  area: 'core',
  description: 'Creates a branch from the current one, or from a branch or commit; uncommitted files stay behind.',
  input: z.strictObject({
    name: BranchName,
    from: z.string().min(1).max(100).optional().describe('Branch or commit; default: head of the current branch.'),
    switch: z.boolean().optional().describe('Move this session to it.'),
    brain: BrainName.optional(),
    ...leaseGuard,
  }),
  output: z.strictObject({
    created: z.literal(true),
    status: z.literal('created'),
    name: z.string(),
    branch: z.string(),
    commit: CommitId,
    from: z.string(),
    uncommittedLeft: z.int().describe('Files that stay uncommitted on the branch before.'),
    brain: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...COMMIT_REFUSES, 'E_BRANCH_EXISTS', 'E_REF_ABSENT'],
  raises: CHANGE_RAISES,
  aliases: { branch: 'name' },
  example: { name: 'experiment', switch: true },
  async handler({ name, from, switch: move = false, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const made = context.take(settled(context, await ask(createBranch, { branch, name, from: from ?? null })));
    if (move) {
      context.take(await ask(openBranch, { branch: name, create: true }));
      await moveSession(context, brain, name);
    }
    return { created: true as const, status: 'created' as const, ...made, branch: made.name, brain };
  },
});

/** Not keyed: repeating it changes nothing, and the tool's outcome is recorded where its effect is. */
export async function moveSession(
  { deps, caller }: Pick<CallContext, 'caller'> & { readonly deps: BrainDeps },
  brain: string,
  branch: string,
) {
  const outcome = await deps.sessions.change(caller.session, null, (pointer) => {
    const moved = switchBranch(pointer, brain, branch);
    return allow({ pointer: moved, value: shownStack(moved).stack });
  });
  return outcome.decision;
}

const switchTo = defineTool({
  name: 'svc_switch_branch',
  area: 'core',
  description: 'Moves this session to another branch of its brain; one that only the remote has is created from it.',
  input: z.strictObject({ name: BranchName, brain: BrainName.optional() }),
  output: z.strictObject({
    status: z.literal('switched'),
    name: z.string(),
    branch: z.string(),
    brain: z.string(),
    commit: CommitId,
    stack: stackNames,
  }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: ['E_BRANCH_ABSENT', 'E_LIMIT', 'E_STATE_WRITE'],
  raises: READ_RAISES,
  aliases: { branch: 'name' },
  example: { name: 'main' },
  async handler({ name, ...wish }, context) {
    const { caller } = context;
    const { ask, brain } = await resolveTarget(context, wish);
    const identified = caller.operator || !isAnonymous(caller.subject);
    const { commit } = context.take(await ask(openBranch, { branch: name, create: identified }));
    const stack = context.take(await moveSession(context, brain, name));
    return { status: 'switched' as const, name, branch: name, brain, commit, stack };
  },
});

const auto = defineTool({
  name: 'svc_branch_auto',
  area: 'branches',
  description:
    'Commits what is uncommitted onto a new branch and moves there; the old branch keeps its files as they are.',
  input: z.strictObject({
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'must be 1-32 letters, digits, underscores or dashes')
      .optional()
      .describe('Start of the name, default "auto".'),
    ...brainAndBranch,
    ...leaseGuard,
  }),
  output: z.union([
    z.strictObject({ branch: z.null(), reason: z.literal('clean') }),
    z.strictObject({
      branch: z.string(),
      commit: CommitId,
      files: z.array(dirtyFile),
      switched: z.literal(true),
      brain: z.string(),
    }),
  ]),
  access: 'identified',
  effect: 'write',
  refuses: COMMIT_REFUSES,
  raises: CHANGE_RAISES,
  async handler({ prefix = 'auto', ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const outcome = await ask(autoBranch, { branch, prefix });
    const { branch: made, commit, files } = context.take(settled(context, outcome));
    if (made === null || commit === null) return { branch: null, reason: 'clean' as const };
    await moveSession(context, brain, made);
    return { branch: made, commit, files: [...files], switched: true as const, brain };
  },
});

const isDirty = defineTool({
  name: 'svc_branch_is_dirty',
  area: 'branches',
  description: 'Tells whether the branch has uncommitted files, and which.',
  input: z.strictObject({ ...brainAndBranch }),
  output: z.strictObject({
    dirty: z.boolean().describe('A commit would take something.'),
    files: z.array(dirtyFile).describe('What a commit would take, the first 1000.'),
    count: z.int(),
    left: z.array(leftEntry).describe('What a commit would leave as it is, the first 1000.'),
    leftCount: z.int(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  async handler(wish, context) {
    const { ask, brain, branch } = await resolveTarget(context, wish);
    const state = context.take(present(await ask(readDirty, { branch })));
    const { files, count, left, leftCount } = state;
    return { dirty: count > 0, files: [...files], count, left: [...left], leftCount, brain, branch };
  },
});

const changedBrains = defineTool({
  name: 'svc_branch_changed_brains',
  area: 'branches',
  description: 'Lists the brains and branches that have uncommitted files.',
  input: z.strictObject({}),
  output: z.strictObject({
    brains: z.array(z.string()),
    changes: z.array(z.strictObject({ brain: z.string(), branch: z.string(), files: z.int() })),
    problems: z
      .array(z.strictObject({ brain: z.string(), code: z.string(), text: z.string() }))
      .describe('Brains that could not be asked (ours): what they have is not known.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler(_input, context) {
    const failures: unknown[] = [];
    const found = await askEveryBrain(context, async ({ ask }, brain) => {
      try {
        const rows = await ask(listChanged, {});
        return { changes: rows.map((row) => ({ brain, ...row })), problems: [] };
      } catch (error) {
        if (isGone(error)) return { changes: [], problems: [] };
        failures.push(error);
        return { changes: [], problems: [{ brain, ...brainProblem(context, brain, error) }] };
      }
    });
    // Where nothing is known, an empty list would read as if there were nothing to commit.
    if (failures.length > 0 && failures.length === found.length) throw failures[0];
    const [changes, problems] = [found.flatMap((one) => one.changes), found.flatMap((one) => one.problems)];
    return { brains: [...new Set(changes.map(({ brain }) => brain))], changes, problems };
  },
});

export const branchTools = [list, create, switchTo, auto, isDirty, changedBrains];
