/** Opens the working tree of a branch: brings it up to the disk and tells what changed in it while nobody looked. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { poolClient } from '@svc/runtime/transaction.ts';
import type { FileEntry } from '../files/file-entry.ts';
import { IgnoreRules } from '../files/ignore-rules.ts';
import { InotifyWatch } from '../files/tree-watch.ts';
import { Worktree } from '../files/worktree.ts';
import { readTreeEntries } from '../git/objects.ts';
import { readHead } from '../git/refs.ts';
import { worktreeGitDir } from '../git/worktree-state.ts';
import { openWorktree, worktreeName } from '../git/worktrees.ts';
import { readCatalogue } from '../store/catalogue.ts';
import { readOpenConflicts } from '../store/sync-store.ts';
import { Slices } from '../thread/slices.ts';
import { BranchWriter } from '../writer/branch-writer.ts';
import type { BrainContext } from '../writer/context.ts';
import type { BrainIndexes } from './brain-indexes.ts';
import type { BrainPlaces } from './open-brain.ts';
import { OpenTree } from './open-tree.ts';

const RECOVERY_MS = 30_000;

interface TreeToOpen {
  readonly context: BrainContext;
  readonly places: BrainPlaces;
  readonly indexes: BrainIndexes;
  readonly branch: string;
  /** An open tree of the same brain, which knows the bytes of most files. */
  readonly twin: Worktree | null;
  /** Somebody touched something in the tree. */
  onTouched(): void;
}

export async function openTree(wish: TreeToOpen): Promise<OpenTree> {
  const { context, indexes, branch, onTouched } = wish;
  const { name, platform, repository } = context;
  const client = poolClient(platform.database.pool);
  const { root, isFilled } = await context.treeTurn(() => placeOf(wish));
  const head = (await readHead(repository, branch)) ?? '';
  const gitDir = await worktreeGitDir(repository, root);
  const watch = new InotifyWatch({ root, gitDir, onTouched });
  try {
    const tree = await Worktree.open({
      branch,
      root,
      index: (source) => indexes.ofBranch(branch, source),
      catalogue: await readCatalogue(client, name, branch),
      head: head === '' ? new Map() : await readTreeEntries(repository, head),
      filledFrom: isFilled ? await byBlob(wish.twin) : null,
      ignores: new IgnoreRules(root, repository.gitDir),
      watch,
      now: () => platform.clock.now(),
    });
    const writer = new BranchWriter(context, tree, await readOpenConflicts(client, name, branch));
    await recordOpening(context, writer);
    const opened = new OpenTree(context, writer, head);
    await opened.compareWithHead();
    return opened;
  } catch (error) {
    watch.close();
    throw error;
  }
}

/** What is as the last commit has it is recorded beside everything else: until then it is only looked at again. */
async function recordOpening({ platform, name }: BrainContext, writer: BranchWriter): Promise<void> {
  const deadlineAt = platform.clock.now() + RECOVERY_MS;
  if (!writer.tree.hasOnlyKnown) return writer.tellNoticed('recovery', deadlineAt);
  const recording = writer.alone(deadlineAt, () => writer.tellNoticed('recovery', deadlineAt));
  recording.catch((error: unknown) => platform.log.warn({ err: error, brain: name }, 'a tree is not recorded yet'));
}

async function placeOf({ context, places, branch }: TreeToOpen): Promise<{ root: string; isFilled: boolean }> {
  const { repository } = context;
  if (branch === 'main') return { root: repository.dir, isFilled: false };
  const wasThere = existsSync(join(places.worktrees, worktreeName(branch)));
  const root = await openWorktree(repository, places.worktrees, branch);
  return { root, isFilled: !wasThere };
}

async function byBlob(twin: Worktree | null): Promise<Map<string, FileEntry>> {
  const entries = new Map<string, FileEntry>();
  const slices = new Slices();
  for (const entry of twin?.table.entries() ?? []) {
    entries.set(entry.blob, entry);
    if (slices.isOver) await slices.pause();
  }
  return entries;
}
