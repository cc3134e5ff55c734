/** A working tree that is open: who writes it, who watches it, and where its branch stands. */
import { isHeadUnmoved, readStampedHead } from '../git/refs.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { BrainContext } from '../writer/context.ts';
import { readPlainTree } from './branch-view.ts';
import type { TreeWatch } from './tree-watch.ts';

export class OpenTree {
  readonly writer: BranchWriter;
  readonly watch: TreeWatch;
  readonly #context: BrainContext;
  #head = '';
  /** Of the branch's head at that time; null = it must be read again. */
  #headStamp: string | null = null;

  constructor(context: BrainContext, writer: BranchWriter, watch: TreeWatch) {
    this.#context = context;
    this.writer = writer;
    this.watch = watch;
  }

  /** Commit that the file table was last compared with. */
  get head(): string {
    return this.#head;
  }

  /** Whether the branch is known to stand at `head`. */
  isHeadUnmoved(): boolean {
    return this.#headStamp !== null && isHeadUnmoved(this.#context.repository, this.#branch, this.#headStamp);
  }

  /** Brings the file table up to the branch's head, which a person may have moved; answers that head. */
  async compareWithHead(): Promise<string> {
    if (this.isHeadUnmoved()) return this.#head;
    const { repository, platform } = this.#context;
    const { head, stamp } = await readStampedHead(repository, this.#branch, platform.clock.now());
    if (head === this.#head) this.#headStamp = stamp;
    if (head === null || head === this.#head) return this.#head;
    const blobs = await readPlainTree(repository, head);
    this.writer.tree.table.setHead(new Map(Array.from(blobs, ([path, { oid }]) => [path, oid])));
    this.#head = head;
    this.#headStamp = stamp;
    return head;
  }

  /** A commit of our own: the file table follows without reading the tree again. */
  adoptHead(commit: string, blobs: ReadonlyMap<string, string | null>): void {
    this.#head = commit;
    this.#headStamp = null;
    this.writer.tree.table.advanceHead(blobs);
  }

  get #branch(): string {
    return this.writer.tree.branch;
  }
}
