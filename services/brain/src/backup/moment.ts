/** A brain as it is at one moment: nobody writes to any of its branches meanwhile. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Snapshot } from '@svc/runtime/snapshot.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import { attribution } from '../brain/commit-attempt.ts';
import { gatherEdits } from '../brain/commit-edits.ts';
import { isGone } from '../brain/open-trees.ts';
import { prepareCommit } from '../git/commits.ts';
import { BrokenBranch, forgetCommits } from '../git/broken-branch.ts';
import { readBranches, readRefs } from '../git/refs.ts';
import { readShallow } from '../git/shallow.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { OpContext } from '../writer/context.ts';
import type { StoredFiles } from '../git/worktree-files.ts';
import type { Manifest } from './archive.ts';
import { rowsOfNow } from './copied-rows.ts';

export interface Moment extends Pick<Manifest, 'refs' | 'work' | 'commit' | 'shallow'> {
  /** Ended by whoever has the moment. */
  readonly rows: Snapshot;
}

const TRIES = 3;

export interface MomentWish {
  readonly context: OpContext;
  /** Asked at that moment; throws when something is hidden from whoever wishes it. */
  assertShown(): Promise<void>;
}

type Captured = Decision<Moment, 'E_BRAIN_DIVERTED'>;

/**
 * What is uncommitted is in commits that nothing names. Writers wait for as long as it takes to see what changed since just
 * before. Denied while a person has a tree elsewhere, whose files are not what is uncommitted on its branch; throws E_BUSY
 * when branches come and go all the time.
 */
export async function captureMoment(brain: OpenBrain, { context, assertShown }: MomentWish): Promise<Captured> {
  for (let round = 0; round < TRIES; round += 1) {
    // In one order, as everybody who waits for several.
    const trees = new Map([...(await brain.trees.all())].sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = await storeWork(brain, trees);
    const moment = await holding([...trees.values()], context.deadlineAt, () =>
      brain.context.rwLock.exclusive(async () => {
        const now = await brain.trees.all();
        const isSame = now.size === trees.size && [...now].every(([branch, writer]) => trees.get(branch) === writer);
        return isSame ? capture(brain, trees, known, { context, assertShown }) : null;
      }),
    ).catch((error: unknown) => {
      if (isGone(error)) return null;
      throw error;
    });
    if (moment !== null) return moment;
  }
  throw new CallError('E_BUSY');
}

/** By the branch. */
type KnownWork = ReadonlyMap<string, StoredFiles>;

/** Nearly all of what is uncommitted, while everybody goes on to write. */
async function storeWork(brain: OpenBrain, trees: ReadonlyMap<string, BranchWriter>): Promise<KnownWork> {
  const known = new Map<string, StoredFiles>();
  for (const [branch, { tree }] of trees) {
    const { stored } = await gatherEdits(brain.context.repository, tree, tree.table.changes());
    known.set(branch, stored);
  }
  return known;
}

/** Every queue stands still while `work` runs. */
function holding<Value>(
  writers: readonly BranchWriter[],
  deadlineAt: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const [first, ...others] = writers;
  return first === undefined ? work() : first.alone(deadlineAt, () => holding(others, deadlineAt, work));
}

async function capture(
  brain: OpenBrain,
  trees: ReadonlyMap<string, BranchWriter>,
  known: KnownWork,
  { context, assertShown }: MomentWish,
): Promise<Captured> {
  const { name, homes, platform, repository } = brain.context;
  for (const [branch, writer] of trees) {
    if (await writer.isDiverted()) return deny('E_BRAIN_DIVERTED', { branch });
    await writer.tree.look();
    await brain.headOf(branch);
  }
  await assertShown();
  forgetCommits(repository);
  const [broken] = (await readBranches(repository)).broken;
  if (broken !== undefined) throw new BrokenBranch(broken); // nobody could restore it
  const work: { branch: string; commit: string }[] = [];
  for (const [branch, writer] of trees) {
    const commit = await commitOfWork(brain, context, writer, known);
    if (commit !== null) work.push({ branch, commit });
  }
  const refs = [...(await readRefs(repository, 'refs/'))]
    .map(([ref, oid]) => ({ ref: `refs/${ref}`, oid }))
    .sort((a, b) => (a.ref < b.ref ? -1 : 1));
  const commit = refs.find(({ ref }) => ref === 'refs/heads/main')?.oid ?? '';
  const shallow = readShallow(repository);
  return allow({ refs, work, commit, shallow, rows: await rowsOfNow(platform.database, { id: homes.home.id, name }) });
}

/** What a commit would take of the working tree; null = nothing. */
async function commitOfWork(
  brain: OpenBrain,
  context: OpContext,
  { tree }: BranchWriter,
  known: KnownWork,
): Promise<string | null> {
  const { branch } = tree;
  const expectedHead = await brain.headOf(branch);
  const changes = tree.table.changes();
  if (changes.length === 0) return null;
  const { repository } = brain.context;
  const { edits } = await gatherEdits(repository, tree, changes, { known: known.get(branch) ?? new Map() });
  const message = `uncommitted on ${branch}`;
  const wish = { branch, expectedHead, edits, message, ...attribution(brain, context) };
  const { commit, isEmpty } = await prepareCommit(repository, wish);
  return isEmpty ? null : commit;
}
