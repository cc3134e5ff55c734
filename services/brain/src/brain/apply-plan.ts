/**
 * Applies a plan of integration to a branch and its working tree. A journal file names both commits; moving the branch
 * decides; the files follow, at once or, after a crash, when the brain opens again.
 */
import { applyChanges, type FileChange } from '../files/durable-write.ts';
import { type Journal, leftJournals, openJournal } from '../files/journal-file.ts';
import type { Worktree } from '../files/worktree.ts';
import type { IntegrationPlan } from '../git/integration.ts';
import { readBlob } from '../git/objects.ts';
import { moveRefs, readHead } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { adoptCommit } from '../git/worktree-index.ts';
import type { BrainContext } from '../writer/context.ts';

type FileMove = IntegrationPlan['moves'][number];

interface JournalRecord {
  readonly brain: string;
  readonly branch: string;
  readonly before: string;
  readonly after: string;
  readonly moves: readonly FileMove[];
  readonly foreign: readonly string[];
}

/** False when the branch is elsewhere by now, and nothing changed. */
export async function applyPlan(
  brain: BrainContext,
  tree: Worktree,
  plan: IntegrationPlan,
  journalDir: string,
): Promise<Journal | null> {
  const { before, after, moves, foreign } = plan;
  const record: JournalRecord = { brain: brain.name, branch: tree.branch, before, after, moves, foreign: [...foreign] };
  const journal = await openJournal(journalDir, `${brain.name}.${brain.platform.ids.next('jrn')}`, record);
  if (!(await moveRefs(brain.repository, plan.refs, new Date(brain.platform.clock.now())))) {
    await journal.close();
    return null;
  }
  try {
    await moveFiles(brain, tree.root, tree, moves);
  } catch (error) {
    // The disk refused, and every file is as before: the branch goes back too.
    const back = plan.refs
      .filter(({ to, from }) => to !== null && from !== null)
      .map(({ ref, to, from }) => ({ ref, to: from, from: to }));
    await moveRefs(brain.repository, back, new Date(brain.platform.clock.now()));
    await journal.close();
    throw error;
  }
  if (after !== before) await adoptCommit(brain.repository, tree.root, after, [...foreign]);
  return journal;
}

async function moveFiles(brain: BrainContext, root: string, tree: Worktree, moves: readonly FileMove[]): Promise<void> {
  const changes = await contentsOf(brain.repository, moves);
  for (const { path } of changes) tree.applying.add(path);
  try {
    await applyChanges(root, changes, () => brain.platform.ids.next('w'));
    for (const { path, content } of changes) tree.accept(path, content === null ? null : tree.describe(path, content));
  } finally {
    for (const { path } of changes) tree.applying.delete(path);
  }
}

async function contentsOf(repository: Repository, moves: readonly FileMove[]): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for (const { path, to } of moves) {
    changes.push({ path, content: to === null ? null : await readBlob(repository, to.oid) });
  }
  return changes;
}

/** Finishes what a killed process left: the working tree follows where its branch went. Before anything else writes. */
export async function finishApply(
  brain: BrainContext,
  journalDir: string,
  treeOf: (branch: string) => Promise<Worktree | null>,
): Promise<void> {
  for (const { record: left, journal } of await leftJournals(journalDir, `${brain.name}.jrn_`)) {
    const record = left as JournalRecord;
    const head = await readHead(brain.repository, record.branch);
    const tree = head === record.after ? await treeOf(record.branch) : null;
    if (tree !== null) {
      // A file that is neither as before nor as after was edited by a person since; it stays.
      const moves = record.moves.filter(({ path, from }) => (tree.refresh(path)?.blob ?? null) === (from?.oid ?? null));
      await moveFiles(brain, tree.root, tree, moves);
      await adoptCommit(brain.repository, tree.root, record.after, [...record.foreign]);
    }
    await journal.close();
  }
}
