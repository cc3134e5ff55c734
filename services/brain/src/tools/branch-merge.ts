/** Merging, renaming and deleting branches: ours, beside the tools of the specification. */
import { z } from 'zod';
import { BrainName, BranchName } from '@svc/contract/names.ts';
import { brainAndBranch, CommitId, leaseGuard } from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import { DEFAULT_BRANCH } from '../domain/stack.ts';
import { deleteBranch, renameBranch } from '../operations/branch-removal.ts';
import { mergeBranch } from '../operations/merge-branch.ts';
import { moveSession } from './branches.ts';
import { type CallContext, resolveWrite, settled, CHANGE_RAISES, COMMIT_REFUSES } from './target.ts';

const merge = defineTool({
  name: 'svc_branch_merge',
  area: 'branches',
  description:
    'Merges another branch, or any commit, into a branch (ours); ours stays where both changed one place, as a conflict. Uncommitted files of the branch are committed first, those of the other stay there.',
  input: z.strictObject({
    from: z.string().min(1).max(100).describe('What is merged: branch, commit id or rescue/<id>/...'),
    into: BranchName.optional().describe("Branch that gets it; default: the session's branch."),
    message: z.string().min(1).max(10_000).optional().describe('Of a merge commit.'),
    dryRun: z.boolean().optional().describe('Only tell, of what is committed.'),
    brain: brainAndBranch.brain,
    ...leaseGuard,
  }),
  output: z.strictObject({
    merged: z.boolean().describe('False of a dry run.'),
    brain: z.string(),
    branch: z.string(),
    from: z.string(),
    status: z.string().describe('up-to-date, fast-forward, merged or merged-with-conflicts.'),
    before: CommitId,
    after: CommitId.nullable().describe('Null of a dry run.'),
    files: z.strictObject({ added: z.int(), updated: z.int(), deleted: z.int() }),
    conflicts: z.array(
      z.strictObject({
        id: z.string().nullable().describe('For svc_conflict_read and svc_conflict_resolve; null of a dry run.'),
        file: z.string(),
        kind: z.string(),
        ours: z.string().nullable(),
        theirs: z.string().nullable(),
      }),
    ),
    rescue: z.string().nullable().describe('Reads with at: rescue/<this>/ours and .../theirs.'),
    committed: z.int().describe('Uncommitted files that were committed first.'),
    uncommitted: z.int().describe('Of a dry run: files that would be committed first.'),
    uncommittedLeft: z.int().describe('Files that stay uncommitted on the branch that was merged.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...COMMIT_REFUSES, 'E_REF_ABSENT'],
  raises: CHANGE_RAISES,
  dress: { merged: false },
  aliases: { branch: 'into' },
  deadlineMs: 120_000,
  example: { from: 'experiment', dryRun: true },
  async handler({ from, into, message, dryRun = false, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, { ...wish, branch: into });
    const answer = await ask(mergeBranch, { branch, from, message: message ?? null, dryRun });
    const { files, conflicts, ...outcome } = context.take(settled(context, answer));
    return { merged: !dryRun, brain, branch, from, ...outcome, files: { ...files }, conflicts: [...conflicts] };
  },
});

const remove = defineTool({
  name: 'svc_branch_delete',
  area: 'branches',
  description:
    'Deletes a branch other than main (ours). For 90 days it reads as rescue/<rescue>/branch, what was uncommitted as .../work, and svc_create_branch from there brings it back.',
  input: z.strictObject({ name: BranchName, brain: BrainName.optional(), ...leaseGuard }),
  output: z.strictObject({
    deleted: z.literal(true),
    name: z.string(),
    brain: z.string(),
    commit: CommitId,
    rescue: z.string(),
    uncommitted: z.int().describe('Files that were committed to rescue/<rescue>/work.'),
    unmerged: z.int().describe('Commits that no other branch has.'),
    setAside: z
      .boolean()
      .describe('Files that no commit takes (ignored, linked, too large) were set aside on the disk of the service.'),
    switched: z.boolean().describe('This session stood on the branch and is on main now.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...COMMIT_REFUSES, 'E_BRANCH_PROTECTED'],
  raises: CHANGE_RAISES,
  aliases: { branch: 'name' },
  destructive: true,
  example: { name: 'experiment' },
  async handler({ name, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const outcome = await ask(deleteBranch, { branch: name });
    const deleted = context.take(settled(context, outcome));
    const switched = branch === name && (await standOn(context, brain, DEFAULT_BRANCH));
    return { deleted: true as const, name, brain, ...deleted, switched };
  },
});

const rename = defineTool({
  name: 'svc_branch_rename',
  area: 'branches',
  description:
    'Renames a branch other than main (ours); uncommitted files go along. Other sessions find it under the new name only, and the branch of a remote keeps its name.',
  input: z.strictObject({ name: BranchName, to: BranchName, brain: BrainName.optional(), ...leaseGuard }),
  output: z.strictObject({
    renamed: z.literal(true),
    name: z.string(),
    from: z.string(),
    brain: z.string(),
    commit: CommitId,
    switched: z.boolean().describe('This session stood on the branch and is on the renamed one.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...COMMIT_REFUSES, 'E_BRANCH_PROTECTED', 'E_BRANCH_EXISTS'],
  raises: CHANGE_RAISES,
  aliases: { branch: 'name' },
  example: { name: 'experiment', to: 'kept' },
  async handler({ name, to, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const outcome = await ask(renameBranch, { branch: name, to });
    const { commit } = context.take(settled(context, outcome));
    const switched = branch === name && (await standOn(context, brain, to));
    return { renamed: true as const, name: to, from: name, brain, commit, switched };
  },
});

async function standOn(context: CallContext, brain: string, branch: string): Promise<boolean> {
  await moveSession(context, brain, branch);
  return true;
}

export const branchMergeTools = [merge, remove, rename];
