/**
 * Plans that put what a branch has on its own on top of another line of history, commit by commit. A commit that joined
 * lines is replayed as what it changed on the branch's own line. Writes objects only.
 */
import type { Conflict } from '../domain/merge/tree.ts';
import { readCommits, type CommitEntry, writeCommit } from './commits.ts';
import { type HistoryStep, readOwnLine } from './history.ts';
import { findMergeBase, type IntegrationPlan, type IntegrationRequest, planOf } from './integration.ts';
import { MergeThread } from './merge-thread.ts';
import { readTree, treeOf, writeEditedTree } from './objects.ts';
import type { Repository } from './repository.ts';
import { type CommitTree, type MergeEdit, mergeSides } from './tree-merge.ts';

/** Commits that one rebase replays; each costs a look at its whole tree. */
export const MAX_REPLAYED = 1000;

export type RebasePlan =
  | { readonly end: 'plan'; readonly plan: IntegrationPlan; readonly replayed: number }
  /** Nothing is planned; `ours` and `theirs` as the branch and the other line see it. */
  | { readonly end: 'clash'; readonly conflicts: readonly Conflict[] }
  | { readonly end: 'too-many'; readonly commits: number };

/** Throws GitError, and TIMEOUT when files take too long to merge. */
export async function planRebase(repository: Repository, request: IntegrationRequest): Promise<RebasePlan> {
  const { ours, theirs } = request;
  const base = await findMergeBase(repository, ours, theirs);
  if (base === theirs) return planned(await planOf(repository, request, { status: 'up-to-date', after: ours }), 0);
  if (base === ours) return planned(await planOf(repository, request, { status: 'fast-forward', after: theirs }), 0);
  const steps = await readOwnLine(repository, { ours, theirs });
  if (steps.length > MAX_REPLAYED) return { end: 'too-many', commits: steps.length };
  const line = await replay(repository, steps, request);
  if ('conflicts' in line) return { end: 'clash', conflicts: line.conflicts };
  const plan = await planOf(repository, request, { status: 'rebased', after: line.tip, keepsTips: true });
  return planned(plan, line.replayed);
}

function planned(plan: IntegrationPlan, replayed: number): RebasePlan {
  return { end: 'plan', plan, replayed };
}

/** Where the new line has come to. */
interface Line {
  readonly tip: string;
  readonly tree: CommitTree;
  readonly replayed: number;
}

async function replay(
  repository: Repository,
  steps: readonly HistoryStep[],
  { theirs, limits, at }: IntegrationRequest,
): Promise<Line | { readonly conflicts: readonly Conflict[] }> {
  const commits = await readCommits(
    repository,
    steps.map(({ commit }) => commit),
  );
  await using thread = new MergeThread(limits);
  let line: Line = { tip: theirs, tree: await readTree(repository, theirs), replayed: 0 };
  let before: { readonly commit: string; readonly tree: CommitTree } | null = null;
  for (const [index, { commit, parents }] of steps.entries()) {
    const [parent] = parents;
    const base: CommitTree = before?.commit === parent && before ? before.tree : await treeBefore(repository, parent);
    const next = await readTree(repository, commit);
    before = { commit, tree: next };
    const { edits, conflicts } = await mergeSides(repository, thread, { base, ours: line.tree, theirs: next });
    if (conflicts.length > 0) return { conflicts: conflicts.map(seenFromBranch) };
    const entry = commits[index];
    if (entry !== undefined) line = await advance(repository, line, { entry, edits, at });
  }
  return line;
}

async function treeBefore(repository: Repository, parent: string | undefined): Promise<CommitTree> {
  return parent === undefined ? new Map() : readTree(repository, parent);
}

/** What the other line has already leaves no commit. */
async function advance(
  repository: Repository,
  line: Line,
  { entry, edits, at }: { readonly entry: CommitEntry; readonly edits: readonly MergeEdit[]; readonly at: Date },
): Promise<Line> {
  const tree = await writeEditedTree(repository, line.tip, edits);
  if (tree === (await treeOf(repository, line.tip))) return line;
  const { author, authoredAt, text } = entry;
  const tip = await writeCommit(repository, { tree, parents: [line.tip], text, author, authoredAt, at });
  const entries = new Map(line.tree);
  for (const { path, entry: made } of edits) {
    if (made === null) entries.delete(path);
    else entries.set(path, made);
  }
  return { tip, tree: entries, replayed: line.replayed + 1 };
}

function seenFromBranch({ ours, theirs, ...conflict }: Conflict): Conflict {
  return { ...conflict, ours: theirs, theirs: ours };
}
