/** A brain that this process owns: its repository, its working trees, each with its writer. */
import { Refusal } from '@svc/contract/codes.ts';
import { deny, allow, type Decision } from '@svc/contract/decision.ts';
import { createTurn } from '@svc/runtime/turns.ts';
import { LRUCache } from 'lru-cache';
import type { HeadEntry } from '../files/file-table.ts';
import { BrokenBranch } from '../git/broken-branch.ts';
import { createBranch, hasBranch, readBranches, readHead, readHeads, readRef, resolveReading } from '../git/refs.ts';
import { trackingRef } from '../git/remote.ts';
import { CheckedOutElsewhere } from '../git/worktree-links.ts';
import { listWorktrees } from '../git/worktrees.ts';
import { type RowView, UNJUDGED } from '../ports.ts';
import { type CommitNames, OWN_NAMES } from '../rules/commit-handles.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { FILE_REFUSALS, GUARD_REFUSALS } from '../writer/file-batch.ts';
import type { BrainContext, BrainProblem, OpContext } from '../writer/context.ts';
import { BrainIndexes } from './brain-indexes.ts';
import { type BranchView, type CommitView, commitView, worktreeView } from './branch-view.ts';
import { IslandReader } from './islands.ts';
import { DEFAULT_REMOTE, type SyncSettings } from './remotes.ts';
import { finishMoves, storeLeft } from '../writer/move-record.ts';
import { finishSteps } from '../writer/step-journal.ts';
import { finishApply } from './apply-plan.ts';
import { finishRename, followByHand, leftByHand, leftRenames } from './branch-renames.ts';
import { setAsideLeft } from './drop-worktree.ts';
import { OpenTrees } from './open-trees.ts';
import { treeProblems } from './tree-problems.ts';

/** With what a branch may be refused: for reading, for writing files, and for what changes it as a whole. */
export const READ_REFUSALS = ['E_BRANCH_ABSENT', 'E_REF_ABSENT'] as const;
export type ReadRefusal = (typeof READ_REFUSALS)[number];
export const WRITE_REFUSALS = [...FILE_REFUSALS, 'E_BRANCH_ABSENT', 'E_LIMIT'] as const;
export type WriteRefusal = (typeof WRITE_REFUSALS)[number];
export const COMMIT_REFUSALS = [...GUARD_REFUSALS, 'E_BRANCH_ABSENT', 'E_BUSY', 'E_LIMIT', 'E_STATE_WRITE'] as const;
export type CommitRefusal = (typeof COMMIT_REFUSALS)[number];

export const MAX_WORKTREES = 64;
const KEPT_COMMIT_VIEWS = 8;

interface PastState {
  readonly at: string;
  readonly rows: RowView;
}

export interface BrainPlaces {
  /** `worktrees/<brain>` */
  readonly worktrees: string;
  /** `cache/<brain>` */
  readonly cache: string;
  /** Absolute; all of these lie in it. */
  readonly dataDir: string;
  /** Which process this is, as its heartbeat names it. */
  readonly process: string;
}

export class OpenBrain {
  readonly context: BrainContext;
  readonly islands = new IslandReader();
  readonly places: BrainPlaces;
  readonly sync: SyncSettings;
  readonly trees: OpenTrees;
  readonly #renames = createTurn();
  readonly #storing = createTurn();
  readonly #indexes: BrainIndexes;
  readonly #views = new LRUCache<string, CommitView>({
    max: KEPT_COMMIT_VIEWS,
    dispose: (view) => void view.close(),
  });

  constructor(context: BrainContext, places: BrainPlaces, sync: SyncSettings) {
    this.context = context;
    this.places = places;
    this.sync = sync;
    this.#indexes = new BrainIndexes(context, places.cache);
    this.trees = new OpenTrees(context, places, this.#indexes);
  }

  /** Opens the working trees on disk, so that what changed in them while nobody looked is told. */
  async start(): Promise<void> {
    const rootOf = async (branch: string): Promise<string | null> => {
      if (branch === 'main') return this.context.repository.dir;
      return (await listWorktrees(this.places.worktrees)).get(branch) ?? null;
    };
    await finishMoves(this.context);
    for (const left of await leftRenames(this.context)) await finishRename(this.context, this.places, left);
    await finishSteps(this.context, rootOf);
    await finishApply(this.context, rootOf);
    await this.followHandRenames();
    await this.#indexes.keepOnly((await readHeads(this.context.repository)).keys());
    await this.trees.open('main');
    for (const [branch, dir] of await listWorktrees(this.places.worktrees)) {
      if (await hasBranch(this.context.repository, branch)) await this.trees.openAtStart(branch);
      else await setAsideLeft(this.context, branch, dir);
    }
  }

  /** What moved in git while the database was away, before anything else changes. */
  async storeLeftMoves(): Promise<void> {
    if (this.context.unstored.size > 0) await this.#storing(() => this.#storeLeftMoves());
  }

  async #storeLeftMoves(): Promise<void> {
    const { treeTurn } = this.context;
    await storeLeft(this.context);
    // In a turn no renaming is under way, so these are left.
    for (const left of await treeTurn(() => leftRenames(this.context))) {
      await this.trees.release(left.from, null); // waits for its queue, which may wait for the turn
      await treeTurn(() => finishRename(this.context, this.places, left));
    }
  }

  /** Creates a branch that only the default remote has, as last fetched; false when that has none either. */
  async adoptRemoteBranch(branch: string): Promise<boolean> {
    const { name, repository, platform } = this.context;
    const remote = await this.sync.remoteFor(name, DEFAULT_REMOTE);
    const commit = remote === null ? null : await readRef(repository, trackingRef(remote, branch));
    if (commit === null) return false;
    return (await createBranch(repository, { branch, commit, at: new Date(platform.clock.now()) })) === 'created';
  }

  async rowView({ isService, subject, registry }: OpContext): Promise<RowView> {
    return isService ? UNJUDGED : this.context.rules.view(subject, this.context.name, registry);
  }

  /** How whoever sees the brain through `rows` names its commits. */
  async namesFor(rows: RowView): Promise<CommitNames> {
    if (rows === UNJUDGED) return OWN_NAMES;
    const { plain, opaque } = this.context.handles;
    if (rows.isWhole) return plain;
    const isWhole = rows.isWholeButIslands && !(await this.context.islands.hasHeld());
    return isWhole ? plain : opaque;
  }

  /** The branch as it is, or the past state that `past.at` names to whom `past.rows` are shown. */
  async view(branch: string, past: PastState | null): Promise<Decision<BranchView, ReadRefusal>> {
    if (past !== null) {
      const { at, rows } = past;
      const commit = await resolveReading(this.context.repository, at, await this.namesFor(rows));
      if (commit === null) return deny('E_REF_ABSENT', { at });
      return allow(this.#commitView(commit));
    }
    const known = await this.trees.opened(branch);
    // The head of `main` lies below its own tree: where it lies as before, the tree is there.
    if (known !== undefined && branch === 'main' && known.isHeadUnmoved()) {
      return allow(worktreeView(this.context.repository, known.writer, known.head));
    }
    const tree = await this.trees.live(branch);
    if (tree !== null) {
      tree.writer.use();
      return allow(worktreeView(this.context.repository, tree.writer, await tree.compareWithHead()));
    }
    const head = await readHead(this.context.repository, branch);
    return head === null ? deny('E_BRANCH_ABSENT', { branch }) : allow(this.#commitView(head));
  }

  /** The branch as it was committed last. */
  async lastCommit(branch: string): Promise<Decision<BranchView, 'E_BRANCH_ABSENT'>> {
    const head = await this.headOf(branch);
    return head === '' ? deny('E_BRANCH_ABSENT', { branch }) : allow(this.#commitView(head));
  }

  /** The writer of a branch, its working tree opened when it has none yet. */
  async writer(branch: string): Promise<Decision<BranchWriter, 'E_BRAIN_DIVERTED' | 'E_BRANCH_ABSENT' | 'E_LIMIT'>> {
    const live = await this.trees.live(branch);
    if (live !== null) return allow(live.writer);
    await this.followHandRenames();
    if ((await readHead(this.context.repository, branch)) === null) return deny('E_BRANCH_ABSENT', { branch });
    if (this.trees.size >= MAX_WORKTREES && !(await this.trees.closeOne()))
      return deny('E_LIMIT', { limit: MAX_WORKTREES });
    try {
      return allow((await this.trees.open(branch)).writer);
    } catch (error) {
      if (error instanceof CheckedOutElsewhere) return deny('E_BRAIN_DIVERTED', { branch });
      if ((await readHead(this.context.repository, branch)) !== null) throw error;
      return deny('E_BRANCH_ABSENT', { branch }); // deleted while its tree was made
    }
  }

  /** Working trees of branches that a person gave another name go along with them. */
  followHandRenames(): Promise<void> {
    const { treeTurn } = this.context;
    return this.#renames(async () => {
      for (;;) {
        const move = await treeTurn(() => leftByHand(this.context, this.places));
        if (move === null) return;
        await this.trees.release(move.from, null); // waits for its queue, which may wait for the turn
        await treeTurn(() => followByHand(this.context, this.places, move));
      }
    });
  }

  /** Where the branch stands now; an open file table is brought up to it. */
  async headOf(branch: string): Promise<string> {
    const open = await this.trees.opened(branch);
    if (open !== undefined) return open.compareWithHead();
    return (await readHead(this.context.repository, branch)) ?? '';
  }

  /** As `headOf`. Throws E_BRANCH_ABSENT: somebody may have deleted the branch, or given it another name, meanwhile. */
  async presentHead(branch: string): Promise<string> {
    const head = await this.headOf(branch);
    if (head === '') throw new Refusal('E_BRANCH_ABSENT', { branch });
    return head;
  }

  /** A commit of our own: the file table follows without reading the tree again. */
  async adoptHead(writer: BranchWriter, commit: string, changes: ReadonlyMap<string, HeadEntry | null>): Promise<void> {
    const open = await this.trees.opened(writer.tree.branch);
    open?.adoptHead(commit, changes);
  }

  /** Finishes what is queued and lets go of everything in memory. */
  async close(): Promise<void> {
    this.context.rules.place(this.context.name, null);
    await this.sync.transfers.stop(this.context.name);
    await this.trees.close();
    this.#views.clear();
    this.context.repository[Symbol.dispose]();
  }

  #commitView(commit: string): BranchView {
    const known = this.#views.get(commit);
    if (known !== undefined) return known;
    const view = commitView(this.context.repository, commit, (source) => this.#indexes.ofCommit(source));
    this.#views.set(commit, view);
    return view;
  }

  /** Losses of the past, branches that are broken, and working trees in which a person has something else in hand. */
  async problems(): Promise<BrainProblem[]> {
    const problems = await treeProblems(this.context.repository, await this.trees.all());
    const broken = (await readBranches(this.context.repository)).broken.map((branch) => ({
      code: 'BRAIN_LOAD_FAIL',
      text: `${new BrokenBranch(branch).message}; git shows where it was (git reflog ${branch}), and moves or removes it`,
    }));
    return [...this.trees.losses, ...broken, ...problems];
  }
}
