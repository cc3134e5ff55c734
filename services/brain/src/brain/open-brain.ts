/** A brain that this process owns: its repository, its working trees, each with its writer. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { deny, allow, type Decision } from '@svc/contract/decision.ts';
import { LRUCache } from 'lru-cache';
import { holdsNothingElse } from '../files/tree-walk.ts';
import type { HeadEntry } from '../files/file-table.ts';
import { createBranch, readHead, readHeads, readRef, resolveReading } from '../git/refs.ts';
import { trackingRef } from '../git/remote.ts';
import { discardWorktree, listWorktrees } from '../git/worktrees.ts';
import { type RowView, UNJUDGED } from '../ports.ts';
import { type CommitNames, OWN_NAMES } from '../rules/commit-handles.ts';
import { type BranchWriter, FILE_REFUSALS, GUARD_REFUSALS } from '../writer/branch-writer.ts';
import type { BrainContext, BrainProblem, OpContext } from '../writer/context.ts';
import { BrainIndexes } from './brain-indexes.ts';
import { type BranchView, type CommitView, commitView, worktreeView } from './branch-view.ts';
import type { OpenTree } from './open-tree.ts';
import { IslandReader } from './islands.ts';
import { DEFAULT_REMOTE, type SyncSettings } from './remotes.ts';
import { finishSteps } from '../writer/step-journal.ts';
import { finishApply } from './apply-plan.ts';
import { finishRenames } from './branch-renames.ts';
import { openTree } from './open-worktree.ts';
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
const HOUSEKEEPING_MS = 30_000;
/** Between the first sign that somebody touched a working tree and the look at it. */
const GATHER_MS = 50;

interface PastState {
  readonly at: string;
  readonly rows: RowView;
}

export interface BrainPlaces {
  /** `worktrees/<brain>` */
  readonly worktrees: string;
  /** `cache/<brain>` */
  readonly cache: string;
  /** `journal` */
  readonly journal: string;
  /** Absolute; all of these lie in it. */
  readonly dataDir: string;
  /** Which process this is, as its heartbeat names it. */
  readonly process: string;
}

export class OpenBrain {
  readonly context: BrainContext;
  readonly islands = new IslandReader();
  /** What health has to say about the past of this brain. */
  readonly losses: BrainProblem[] = [];
  readonly places: BrainPlaces;
  readonly sync: SyncSettings;
  readonly #indexes: BrainIndexes;
  readonly #lookingSoon = new Set<string>();
  readonly #trees = new Map<string, Promise<OpenTree>>();
  readonly #views = new LRUCache<string, CommitView>({
    max: KEPT_COMMIT_VIEWS,
    dispose: (view) => void view.close(),
  });

  constructor(context: BrainContext, places: BrainPlaces, sync: SyncSettings) {
    this.context = context;
    this.places = places;
    this.sync = sync;
    this.#indexes = new BrainIndexes(context, places.cache);
  }

  /** Opens the working trees on disk, so that what changed in them while nobody looked is told. */
  async start(): Promise<void> {
    const rootOf = async (branch: string): Promise<string | null> => {
      if (branch === 'main') return this.context.repository.dir;
      return (await listWorktrees(this.places.worktrees)).get(branch) ?? null;
    };
    await finishRenames(this.context, this.places);
    await finishSteps(this.context, this.places.journal, rootOf);
    await finishApply(this.context, this.places.journal, rootOf);
    await this.#indexes.keepOnly((await readHeads(this.context.repository)).keys());
    await this.#openTree('main');
    for (const branch of (await listWorktrees(this.places.worktrees)).keys()) {
      if ((await readHead(this.context.repository, branch)) !== null) await this.#openTree(branch);
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
    const known = await this.#opened(branch);
    // The head of `main` lies below its own tree: where it lies as before, the tree is there.
    if (known !== undefined && branch === 'main' && known.isHeadUnmoved()) {
      return allow(worktreeView(this.context.repository, known.writer, known.head));
    }
    const tree = await this.#liveTree(branch);
    if (tree !== null) return allow(worktreeView(this.context.repository, tree.writer, await tree.compareWithHead()));
    const head = await readHead(this.context.repository, branch);
    return head === null ? deny('E_BRANCH_ABSENT', { branch }) : allow(this.#commitView(head));
  }

  /** The branch as it was committed last. */
  async lastCommit(branch: string): Promise<Decision<BranchView, 'E_BRANCH_ABSENT'>> {
    const head = await this.headOf(branch);
    return head === '' ? deny('E_BRANCH_ABSENT', { branch }) : allow(this.#commitView(head));
  }

  /** The writer of a branch, its working tree opened when it has none yet. */
  async writer(branch: string): Promise<Decision<BranchWriter, 'E_BRANCH_ABSENT' | 'E_LIMIT'>> {
    const live = await this.#liveTree(branch);
    if (live !== null) return allow(live.writer);
    if ((await readHead(this.context.repository, branch)) === null) return deny('E_BRANCH_ABSENT', { branch });
    if (this.#trees.size >= MAX_WORKTREES && !(await this.#closeIdleTree()))
      return deny('E_LIMIT', { limit: MAX_WORKTREES });
    try {
      return allow((await this.#openTree(branch)).writer);
    } catch (error) {
      if ((await readHead(this.context.repository, branch)) !== null) throw error;
      return deny('E_BRANCH_ABSENT', { branch }); // deleted while its tree was made
    }
  }

  /** Where the branch stands now; an open file table is brought up to it. */
  async headOf(branch: string): Promise<string> {
    const open = await this.#opened(branch);
    if (open !== undefined) return open.compareWithHead();
    return (await readHead(this.context.repository, branch)) ?? '';
  }

  /** A commit of our own: the file table follows without reading the tree again. */
  async adoptHead(writer: BranchWriter, commit: string, changes: ReadonlyMap<string, HeadEntry | null>): Promise<void> {
    const open = await this.#trees.get(writer.tree.branch);
    open?.adoptHead(commit, changes);
  }

  async openTrees(): Promise<Map<string, BranchWriter>> {
    const trees = new Map<string, BranchWriter>();
    for (const branch of this.#trees.keys()) {
      const open = await this.#opened(branch);
      if (open !== undefined) trees.set(branch, open.writer);
    }
    return trees;
  }

  /** Looks at every file of every open tree, and tells what others changed. */
  async scan(): Promise<void> {
    for (const writer of (await this.openTrees()).values()) await this.#look(writer, () => writer.tree.scan());
  }

  async settled(): Promise<void> {
    for (const writer of (await this.openTrees()).values()) await writer.settled();
  }

  /** Finishes what is queued and lets go of everything in memory. */
  async close(): Promise<void> {
    this.context.rules.place(this.context.name, null);
    await this.sync.transfers.stop(this.context.name);
    for (const writer of (await this.openTrees()).values()) {
      writer.tree.close();
      await writer.settled();
      await writer.tree.index.close();
    }
    this.#trees.clear();
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

  /** Undefined also while its opening fails: who asked for the opening hears of that. */
  async #opened(branch: string): Promise<OpenTree | undefined> {
    return this.#trees.get(branch)?.catch(() => undefined);
  }

  /** The open tree of a branch; null when it has none, also because the branch is being deleted. */
  async #liveTree(branch: string): Promise<OpenTree | null> {
    try {
      return await this.#treeOnDisk(branch);
    } catch (error) {
      if ((await readHead(this.context.repository, branch)) !== null) throw error;
      return null;
    }
  }

  /** One that a person removed from disk is opened again from the last commit. */
  async #treeOnDisk(branch: string): Promise<OpenTree | null> {
    const open = this.#trees.get(branch);
    if (open === undefined) return null;
    const tree = await open;
    if (existsSync(join(tree.writer.tree.root, '.git'))) return tree;
    if (this.#trees.get(branch) === open) {
      this.#trees.delete(branch);
      tree.close();
      await tree.writer.tree.index.close();
      this.losses.push({
        code: 'E_WORKTREE_LOST',
        text: `the working tree of ${branch} was removed; it was opened again from its last commit`,
      });
    }
    return this.#openTree(branch);
  }

  /** Losses of the past, and working trees in which a person has something else in hand. */
  async problems(): Promise<BrainProblem[]> {
    return [...this.losses, ...(await treeProblems(this.context.repository, await this.openTrees()))];
  }

  #openTree(branch: string): Promise<OpenTree> {
    const known = this.#trees.get(branch);
    if (known !== undefined) return known;
    const opening = this.#makeTree(branch);
    this.#trees.set(branch, opening);
    opening.catch(() => this.#trees.delete(branch)); // the next call tries again
    return opening;
  }

  async #makeTree(branch: string): Promise<OpenTree> {
    const { context, places } = this;
    const twin = branch === 'main' ? null : ((await this.#trees.get('main'))?.writer.tree ?? null);
    const onTouched = (): void => void this.#lookSoon(branch);
    return openTree({ context, places, indexes: this.#indexes, branch, twin, onTouched });
  }

  /** What happens at one moment, an editor's or a git's, is taken in together. */
  async #lookSoon(branch: string): Promise<void> {
    if (this.#lookingSoon.has(branch)) return;
    this.#lookingSoon.add(branch);
    await sleep(GATHER_MS, undefined, { ref: false });
    this.#lookingSoon.delete(branch);
    const open = await this.#trees.get(branch)?.catch(() => null);
    if (open === undefined || open === null) return;
    try {
      await this.#look(open.writer, () => open.writer.tree.look());
      await open.compareWithHead(); // a commit by hand touches no file
    } catch (error) {
      this.context.platform.log.warn({ err: error, brain: this.context.name }, 'external edits not told yet');
    }
  }

  #look(writer: BranchWriter, look: () => Promise<void>): Promise<void> {
    const deadlineAt = this.context.platform.clock.now() + HOUSEKEEPING_MS;
    return writer.alone(deadlineAt, async () => {
      await look();
      await writer.tellNoticed('external', deadlineAt);
    });
  }

  /** Closes clean working trees that nobody used since `before` (ms since the epoch); their files stay in their branches. */
  async closeIdleTrees(before: number): Promise<void> {
    for (const [branch, { usedAt }] of await this.#idleTrees()) if (usedAt < before) await this.#closeTree(branch);
  }

  /** Lets go of a working tree, in its queue; whoever waits there looks for the branch again. The files stay. */
  async releaseTree(branch: string): Promise<void> {
    const open = await this.#trees.get(branch);
    this.#trees.delete(branch);
    if (open === undefined) return;
    open.writer.retire(new Refusal('E_BRANCH_ABSENT', { branch }));
    open.close();
    await open.writer.tree.index.close();
    await this.#indexes.drop(branch);
  }

  /** Whoever asks for the branch from now on gets the working tree that is on its way; E_BUSY when it does not come. */
  expectTree(branch: string, isThere: Promise<boolean>): void {
    const opening = isThere.then((there) => {
      if (!there) throw new CallError('E_BUSY');
      return this.#makeTree(branch);
    });
    this.#trees.set(branch, opening);
    opening.catch(() => this.#trees.delete(branch));
  }

  /** Makes room for one more; false when every working tree is in use or holds what its branch does not. */
  async #closeIdleTree(): Promise<boolean> {
    for (const [branch] of await this.#idleTrees()) if (await this.#closeTree(branch)) return true;
    return false;
  }

  /** Working trees, the longest unused first; never that of `main`. */
  async #idleTrees(): Promise<[string, BranchWriter][]> {
    const idle = [...(await this.openTrees())].filter(([branch]) => branch !== 'main');
    return idle.sort(([, a], [, b]) => a.usedAt - b.usedAt);
  }

  /**
   * In the branch's queue, so that no write is acknowledged between the last look and the end; false when the tree holds
   * anything that is not in the branch, also what the service would never serve.
   */
  async #closeTree(branch: string): Promise<boolean> {
    const open = await this.#trees.get(branch);
    if (open === undefined) return false;
    const { writer } = open;
    const closed = await writer.alone(this.context.platform.clock.now() + HOUSEKEEPING_MS, async () => {
      await open.compareWithHead();
      await writer.tree.scan();
      const { root, table } = writer.tree;
      const isAsCommitted = table.dirtyCount === 0 && table.left().length === 0;
      if (!isAsCommitted || !(await holdsNothingElse(root, (onDisk) => table.headOf(onDisk) !== undefined)))
        return false;
      writer.retire();
      this.#trees.delete(branch);
      await discardWorktree(this.context.repository, writer.tree.root);
      return true;
    });
    if (!closed) return false;
    open.close();
    await writer.tree.index.close();
    return true;
  }
}
