/** A brain as it is at one moment: nobody writes to any of its branches meanwhile. */
import type { OpenBrain } from '../brain/open-brain.ts';
import { attribution } from '../brain/commit-attempt.ts';
import { gatherEdits } from '../brain/commit-edits.ts';
import { prepareCommit } from '../git/commits.ts';
import { readRefs } from '../git/refs.ts';
import { readTreeEntries } from '../git/objects.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { OpContext } from '../writer/context.ts';
import type { Manifest } from './archive.ts';
import { exportRows } from './copied-rows.ts';

export type Moment = Pick<Manifest, 'refs' | 'work' | 'files' | 'rows' | 'commit'>;

const TRIES = 3;

export interface MomentWish {
  readonly context: OpContext;
  readonly rowsFile: string;
  /** Asked at that moment; throws when something is hidden from whoever wishes it. */
  assertShown(): Promise<void>;
}

/** The rows go into `rowsFile`. What is uncommitted is in commits that nothing names. Null when branches come and go all the time. */
export async function captureMoment(
  brain: OpenBrain,
  { context, rowsFile, assertShown }: MomentWish,
): Promise<Moment | null> {
  for (let round = 0; round < TRIES; round += 1) {
    const trees = await brain.openTrees();
    const moment = await holding([...trees.values()], context.deadlineAt, () =>
      brain.context.rwLock.exclusive(async () => {
        const now = await brain.openTrees();
        const isSame = now.size === trees.size && [...now].every(([branch, writer]) => trees.get(branch) === writer);
        return isSame ? capture(brain, trees, { context, rowsFile, assertShown }) : null;
      }),
    );
    if (moment !== null) return moment;
  }
  return null;
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
  { context, rowsFile, assertShown }: MomentWish,
): Promise<Moment> {
  const { name, homes, platform, repository } = brain.context;
  for (const [branch, { tree }] of trees) {
    await tree.look();
    await brain.headOf(branch);
  }
  await assertShown();
  const work: { branch: string; commit: string }[] = [];
  for (const [branch, writer] of trees) {
    const commit = await commitOfWork(brain, context, branch, writer);
    if (commit !== null) work.push({ branch, commit });
  }
  const refs = [...(await readRefs(repository, 'refs/'))]
    .map(([ref, oid]) => ({ ref: `refs/${ref}`, oid }))
    .sort((a, b) => (a.ref < b.ref ? -1 : 1));
  const commit = refs.find(({ ref }) => ref === 'refs/heads/main')?.oid ?? '';
  const shown = work.find(({ branch }) => branch === 'main')?.commit ?? commit;
  const rows = await exportRows(platform.database.pool, { id: homes.home.id, name }, rowsFile);
  return { refs, work, commit, rows, files: (await readTreeEntries(repository, shown)).size };
}

/** What a commit would take of the working tree; null = nothing. */
async function commitOfWork(
  brain: OpenBrain,
  context: OpContext,
  branch: string,
  { tree }: BranchWriter,
): Promise<string | null> {
  const expectedHead = await brain.headOf(branch);
  const changes = tree.table.changes();
  if (changes.length === 0) return null;
  const { repository } = brain.context;
  const { edits } = await gatherEdits(repository, tree, changes);
  const message = `uncommitted on ${branch}`;
  const wish = { branch, expectedHead, edits, message, ...attribution(brain, context) };
  const { commit, isEmpty } = await prepareCommit(repository, wish);
  return isEmpty ? null : commit;
}
