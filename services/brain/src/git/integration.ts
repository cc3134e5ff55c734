/**
 * Plans that bring another line of history into a branch. A plan writes objects only; the owner of the branch's queue
 * applies it: the moves in the working tree, then `moveRefs(plan.refs)`, then `adoptCommit` for the index.
 */
import type { Conflict } from '../domain/merge/tree.ts';
import { writeCommit } from './commits.ts';
import type { MergeLimits } from './merge-thread.ts';
import { compareTrees, mergeCommitTrees, type TreeDifference } from './tree-merge.ts';
import { type RefMove, rescueStamp } from './refs.ts';
import type { Repository } from './repository.ts';
import { branchRef, type Identity, objectId } from './run.ts';

export interface IntegrationRequest {
  readonly branch: string;
  /** The branch's head now. */
  readonly ours: string;
  /** The commit to bring in. */
  readonly theirs: string;
  /** Where theirs comes from, for the message of a merge commit. */
  readonly source: string;
  /** Of a merge commit; default: one that names the source and the branch. */
  readonly text?: string | undefined;
  readonly author: Identity;
  readonly at: Date;
  /** 8 random hex digits that make a rescue id unique within its second. */
  readonly rescueSuffix: string;
  readonly limits: MergeLimits;
}

type IntegrationStatus = 'up-to-date' | 'fast-forward' | 'merged' | 'merged-with-conflicts' | 'rebased';

export interface IntegrationPlan extends TreeDifference {
  readonly status: IntegrationStatus;
  readonly before: string;
  /** The head after the plan is applied. */
  readonly after: string;
  readonly conflicts: readonly Conflict[];
  /** The commit that is brought in. */
  readonly theirs: string;
  /** `<UTC>-<8 hex>` under which both tips are kept when there is a conflict. */
  readonly rescueId: string;
  /** The same when the plan itself keeps them, else null. */
  readonly rescue: string | null;
  /** To be moved as one transaction; empty when nothing changes. */
  readonly refs: readonly RefMove[];
}

/** How a pull would end. Throws GitError, and TIMEOUT when files take too long to merge. */
export async function planPull(repository: Repository, request: IntegrationRequest): Promise<IntegrationPlan> {
  const { ours, theirs, branch, source, text = `Merge ${source} into ${branch}\n`, author, at } = request;
  const base = await findMergeBase(repository, ours, theirs);
  if (base === theirs) return planOf(repository, request, { status: 'up-to-date', after: ours });
  if (base === ours) return planOf(repository, request, { status: 'fast-forward', after: theirs });
  const { tree, conflicts } = await mergeCommitTrees(repository, { base, ours, theirs }, request.limits);
  const after = await writeCommit(repository, { tree, parents: [ours, theirs], text, author, authoredAt: at, at });
  const status = conflicts.length === 0 ? 'merged' : 'merged-with-conflicts';
  return planOf(repository, request, { status, after, conflicts });
}

/** `keepsTips`: both are rescued, although nothing clashes. */
export async function planOf(
  repository: Repository,
  { branch, ours, theirs, at, rescueSuffix }: IntegrationRequest,
  outcome: Pick<IntegrationPlan, 'status' | 'after'> &
    Partial<Pick<IntegrationPlan, 'conflicts'>> & { readonly keepsTips?: boolean },
): Promise<IntegrationPlan> {
  const { status, after, conflicts = [], keepsTips = false } = outcome;
  const rescueId = `${rescueStamp(at)}-${rescueSuffix}`;
  const rescue = conflicts.length === 0 && !keepsTips ? null : rescueId;
  const rescues = rescue === null ? [] : rescueMoves(rescue, ours, theirs);
  const moves: RefMove[] = after === ours ? [] : [{ ref: branchRef(branch), to: after, from: ours }];
  return {
    status,
    before: ours,
    after,
    theirs,
    conflicts,
    rescueId,
    rescue,
    refs: [...moves, ...rescues],
    ...(after === ours ? { moves: [], foreign: [] } : await compareTrees(repository, ours, after)),
  };
}

/** Both tips, as references that are new. */
export function rescueMoves(rescue: string, ours: string, theirs: string): RefMove[] {
  return [
    { ref: `refs/rescue/${rescue}/ours`, to: ours, from: null },
    { ref: `refs/rescue/${rescue}/theirs`, to: theirs, from: null },
  ];
}

/** The best common ancestor, or null when the histories have none. */
export async function findMergeBase(repository: Repository, ours: string, theirs: string): Promise<string | null> {
  const { exitCode, stdout } = await repository.git.run({
    args: ['merge-base', objectId(ours), objectId(theirs)],
    gitDir: repository.gitDir,
    answers: [0, 1],
  });
  return exitCode === 0 ? stdout.toString('latin1').trim() : null;
}
