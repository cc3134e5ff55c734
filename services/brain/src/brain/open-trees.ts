/** The working trees of a brain that are open: at most one for each branch, whoever asks for it and however often. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { holdsNothingElse } from '../files/tree-walk.ts';
import { BrokenBranch } from '../git/broken-branch.ts';
import { readHead } from '../git/refs.ts';
import { RepositoryProblem } from '../git/repository.ts';
import { GitError } from '../git/run.ts';
import { CheckedOutElsewhere } from '../git/worktree-links.ts';
import { isLinked } from '../git/worktree-state.ts';
import { discardWorktree } from '../git/worktrees.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type BrainContext, type BrainProblem, TreeClosed } from '../writer/context.ts';
import type { BrainIndexes } from './brain-indexes.ts';
import type { BrainPlaces } from './open-brain.ts';
import type { OpenTree } from './open-tree.ts';
import { openTree } from './open-worktree.ts';

const HOUSEKEEPING_MS = 30_000;
/** Between the first sign that somebody touched a working tree and the look at it. */
const GATHER_MS = 50;

export class OpenTrees {
  /** What health has to say about working trees that are gone. */
  readonly losses: BrainProblem[] = [];
  readonly #context: BrainContext;
  readonly #places: BrainPlaces;
  readonly #indexes: BrainIndexes;
  readonly #lookingSoon = new Set<string>();
  readonly #trees = new Map<string, Promise<OpenTree>>();
  /** Trees that are being closed: what comes in their place waits for that. */
  readonly #closing = new Map<string, Promise<void>>();

  constructor(context: BrainContext, places: BrainPlaces, indexes: BrainIndexes) {
    this.#context = context;
    this.#places = places;
    this.#indexes = indexes;
  }

  /** With those that are being opened. */
  get size(): number {
    return this.#trees.size;
  }

  open(branch: string): Promise<OpenTree> {
    return this.#trees.get(branch) ?? this.#put(branch, this.#make(branch));
  }

  /** One branch that cannot be opened takes none of the others along; whoever writes to it is told why. */
  async openAtStart(branch: string): Promise<void> {
    try {
      await this.open(branch);
    } catch (error) {
      const isOfTree =
        error instanceof CheckedOutElsewhere ||
        error instanceof BrokenBranch ||
        error instanceof GitError ||
        error instanceof RepositoryProblem;
      if (!isOfTree) throw error;
      this.#context.platform.log.error({ err: error, brain: this.#context.name, branch }, 'no working tree');
      this.losses.push({ code: 'E_WORKTREE_LOST', text: `the working tree of ${branch} could not be opened` });
    }
  }

  /** Whoever asks for the branch from now on gets the working tree that is on its way; E_BUSY when it does not come. */
  expect(branch: string, isThere: Promise<boolean>): void {
    const opening = isThere.then((there) => {
      if (!there) throw new CallError('E_BUSY');
      return this.#make(branch);
    });
    void this.#put(branch, opening);
  }

  /** Undefined also while its opening fails: who asked for the opening hears of that. */
  async opened(branch: string): Promise<OpenTree | undefined> {
    return this.#trees.get(branch)?.catch(() => undefined);
  }

  /** The open tree of a branch; null when it has none, also because the branch is being deleted. */
  async live(branch: string): Promise<OpenTree | null> {
    try {
      return await this.#onDisk(branch);
    } catch (error) {
      if ((await readHead(this.#context.repository, branch)) !== null) throw error;
      return null;
    }
  }

  /** One that a person removed from disk is none of them. */
  async all(): Promise<Map<string, BranchWriter>> {
    const trees = new Map<string, BranchWriter>();
    for (const [branch, opening] of this.#trees) {
      const open = await opening.catch(() => undefined);
      if (open !== undefined && !(await this.#isLost(branch, opening, open))) trees.set(branch, open.writer);
    }
    return trees;
  }

  /** Looks at every file of every open tree, and tells what others changed. */
  async scan(): Promise<void> {
    for (const [branch, writer] of await this.all())
      await this.#look(writer, 'aside', () => writer.tree.scan()).catch((error: unknown) => this.#leave(branch, error));
  }

  async settled(): Promise<void> {
    for (const writer of (await this.all()).values()) await writer.settled();
  }

  /** Finishes what is queued and lets go of everything in memory. */
  async close(): Promise<void> {
    for (const writer of (await this.all()).values()) {
      writer.tree.close();
      await writer.settled();
      await writer.tree.index.close();
    }
    this.#trees.clear();
    await Promise.all(this.#closing.values());
  }

  /** Closes clean working trees that nobody used since `before` (ms since the epoch); their files stay in their branches. */
  async closeIdle(before: number): Promise<void> {
    for (const [branch, { usedAt }] of await this.#idle()) if (usedAt < before) await this.#closeClean(branch);
  }

  /** Makes room for one more; false when every working tree is in use or holds what its branch does not. */
  async closeOne(): Promise<boolean> {
    for (const [branch] of await this.#idle()) if (await this.#closeClean(branch)) return true;
    return false;
  }

  /**
   * Lets go of the working tree of a branch that is gone; whoever waits in its queue is told so. The files stay, and nobody
   * is at work on them any more. `queue`: whose queue the caller runs in.
   */
  async release(branch: string, queue: BranchWriter | null): Promise<void> {
    const opening = this.#trees.get(branch);
    this.#trees.delete(branch);
    const open = await opening?.catch(() => undefined);
    if (open === undefined) return;
    open.writer.retire(new Refusal('E_BRANCH_ABSENT', { branch }));
    if (open.writer !== queue) await open.writer.settled();
    await this.#closed(branch, open);
    await this.#indexes.drop(branch);
  }

  #put(branch: string, opening: Promise<OpenTree>): Promise<OpenTree> {
    this.#trees.set(branch, opening);
    // The next call tries again.
    opening.catch(() => {
      if (this.#trees.get(branch) === opening) this.#trees.delete(branch);
    });
    return opening;
  }

  async #make(branch: string): Promise<OpenTree> {
    await this.#closing.get(branch);
    const [context, places, indexes] = [this.#context, this.#places, this.#indexes];
    const twin = branch === 'main' ? null : ((await this.#trees.get('main'))?.writer.tree ?? null);
    const onTouched = (): void => void this.#lookSoon(branch);
    return openTree({ context, places, indexes, branch, twin, onTouched });
  }

  /** One that a person removed from disk is opened again from the last commit. */
  async #onDisk(branch: string): Promise<OpenTree | null> {
    const opening = this.#trees.get(branch);
    if (opening === undefined) return null;
    const tree = await opening;
    return (await this.#isLost(branch, opening, tree)) ? this.open(branch) : tree;
  }

  /** Whether a person removed it, or its link to the repository: it is let go, so that the next call opens another one. */
  async #isLost(branch: string, opening: Promise<OpenTree>, tree: OpenTree): Promise<boolean> {
    const { writer } = tree;
    if (await isLinked(this.#context.repository, writer.tree.root)) return false;
    if (this.#trees.get(branch) !== opening) return true;
    this.#trees.delete(branch);
    writer.retire();
    await this.#closed(branch, tree);
    const text = `the working tree of ${branch} was removed, or its link to the repository; a new one is made of its last commit, and files that were left stay beside it`;
    if (!this.losses.some((loss) => loss.text === text)) this.losses.push({ code: 'E_WORKTREE_LOST', text });
    return true;
  }

  /** What happens at one moment, an editor's or a git's, is taken in together. */
  async #lookSoon(branch: string): Promise<void> {
    if (this.#lookingSoon.has(branch)) return;
    this.#lookingSoon.add(branch);
    await sleep(GATHER_MS, undefined, { ref: false });
    this.#lookingSoon.delete(branch);
    const open = await this.opened(branch);
    if (open === undefined) return;
    try {
      await this.#look(open.writer, 'alone', () => open.writer.tree.look());
      await open.compareWithHead(); // a commit by hand touches no file
    } catch (error) {
      if (isGone(error)) return;
      this.#context.platform.log.warn({ err: error, brain: this.#context.name }, 'external edits not told yet');
    }
  }

  /** `alone` where somebody was at work on the files. */
  #look(writer: BranchWriter, turn: 'alone' | 'aside', look: () => Promise<void>): Promise<void> {
    const deadlineAt = this.#context.platform.clock.now() + HOUSEKEEPING_MS;
    return writer[turn](deadlineAt, async () => {
      await look();
      await writer.tellNoticed('external', deadlineAt);
    });
  }

  /** Working trees, the longest unused first; never that of `main`. */
  async #idle(): Promise<[string, BranchWriter][]> {
    const idle = [...(await this.all())].filter(([branch]) => branch !== 'main');
    return idle.sort(([, a], [, b]) => a.usedAt - b.usedAt);
  }

  /**
   * In the branch's queue, so that no write is acknowledged between the last look and the end; false when the tree holds
   * anything that is not in the branch, also what the service would never serve.
   */
  async #closeClean(branch: string): Promise<boolean> {
    const opening = this.#trees.get(branch);
    const open = await opening?.catch(() => undefined);
    if (open === undefined) return false;
    const { writer } = open;
    const closing = writer.alone(this.#context.platform.clock.now() + HOUSEKEEPING_MS, async () => {
      await open.compareWithHead();
      await writer.tree.scan();
      const { root, table } = writer.tree;
      const isAsCommitted = table.dirtyCount === 0 && table.left().length === 0;
      if (!isAsCommitted || !(await holdsNothingElse(root, (onDisk) => table.headOf(onDisk) !== undefined)))
        return false;
      if (this.#trees.get(branch) !== opening) return false; // a person removed it meanwhile
      writer.retire();
      this.#trees.delete(branch);
      await this.#closed(branch, open, () =>
        this.#context.treeTurn(() => discardWorktree(this.#context.repository, root)),
      );
      return true;
    });
    return closing.catch((error: unknown) => this.#leave(branch, error));
  }

  /**
   * Until another time: whatever is wrong with the tree of one branch, those of the others have their turn. Of one that somebody
   * else closed there is nothing to tell, and of a broken branch health tells.
   */
  #leave(branch: string, error: unknown): false {
    const { platform, name } = this.#context;
    if (!isGone(error) && !(error instanceof BrokenBranch))
      platform.log.warn({ err: error, brain: name, branch }, 'a working tree could not be looked through');
    return false;
  }

  /** Once it is out of the list: until this has ended, nothing is opened in its place. */
  async #closed(branch: string, open: OpenTree, discard?: () => Promise<void>): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.#closing.set(branch, ended.promise);
    try {
      open.close();
      await discard?.();
      await open.writer.tree.index.close();
    } finally {
      if (this.#closing.get(branch) === ended.promise) this.#closing.delete(branch);
      ended.resolve();
    }
  }
}

/** What whoever waits in the queue of a branch hears when its working tree was let go, perhaps with the branch. */
export function isGone(error: unknown): boolean {
  return error instanceof TreeClosed || (error instanceof Refusal && error.code === 'E_BRANCH_ABSENT');
}
