/** A working tree that is open: who writes it, who watches it, and where its branch stands. */
import { createTurn } from '@svc/runtime/turns.ts';
import { readTreeChanges, readTreeEntries } from '../git/objects.ts';
import { shownPath } from '../git/path-bytes.ts';
import { isKnownCommit } from '../git/broken-branch.ts';
import { isHeadUnmoved, readStampedHead } from '../git/refs.ts';
import type { HeadEntry } from '../files/file-table.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { BrainContext } from '../writer/context.ts';
import { tellHandCommit } from './external-commits.ts';

export class OpenTree {
  readonly writer: BranchWriter;
  readonly #context: BrainContext;
  #head: string;
  /** Of the branch's head at that time; null = it must be read again. */
  #headStamp: string | null = null;
  readonly #inTurn = createTurn();

  /** `head`: the commit that the file table was compared with. */
  constructor(context: BrainContext, writer: BranchWriter, head: string) {
    this.#context = context;
    this.writer = writer;
    this.#head = head;
  }

  /** Commit that the file table was last compared with. */
  get head(): string {
    return this.#head;
  }

  /** Whether the branch is known to stand at `head`, and that to be there. */
  isHeadUnmoved(): boolean {
    const { repository } = this.#context;
    if (this.#headStamp === null || !isKnownCommit(repository, this.#head)) return false;
    return isHeadUnmoved(repository, this.#branch, this.#headStamp);
  }

  /** Brings the file table up to the branch's head, which a person may have moved; answers that head. */
  async compareWithHead(): Promise<string> {
    // One after the other: each brings the table from one head to the next.
    if (!this.isHeadUnmoved()) await this.#inTurn(() => this.#compareNow());
    await this.writer.skipped.note();
    return this.#head;
  }

  async #compareNow(): Promise<string> {
    if (this.isHeadUnmoved()) return this.#head;
    const { repository, platform } = this.#context;
    const { head, stamp } = await readStampedHead(repository, this.#branch, platform.clock.now());
    if (head === this.#head) this.#headStamp = stamp;
    if (head === null || head === this.#head) return this.#head;
    const { table } = this.writer.tree;
    const before = this.#head;
    const changes = before === '' ? null : await readTreeChanges(repository, before, head);
    if (changes === null) table.setHead(await readTreeEntries(repository, head));
    else this.#advance(changes);
    if (changes !== null && this.#head === before)
      this.#tellHandCommit(before, head, [...changes.keys()].map(shownPath));
    this.#head = head;
    this.#headStamp = stamp;
    return head;
  }

  #advance(changes: ReadonlyMap<string, HeadEntry | null>): void {
    const { tree } = this.writer;
    tree.table.advanceHead(changes);
    // What a person has taken out of git may be ignored from then on.
    for (const [onDisk, entry] of changes) if (entry === null) tree.take(tree.table.pathOf(onDisk), onDisk, 'passed');
  }

  /** Nobody waits for it: the head is asked for inside transactions too. */
  #tellHandCommit(before: string, after: string, onDisk: readonly string[]): void {
    const move = { branch: this.#branch, before, after, files: onDisk.map((path) => path.normalize('NFC')) };
    tellHandCommit(this.#context, move).catch((error: unknown) => {
      this.#context.platform.log.warn({ err: error, brain: this.#context.name }, 'a commit by hand was not told');
    });
  }

  /** A commit of our own: the file table follows without reading the tree again. */
  adoptHead(commit: string, changes: ReadonlyMap<string, HeadEntry | null>): void {
    this.#head = commit;
    this.#headStamp = null;
    this.writer.tree.table.advanceHead(changes);
  }

  close(): void {
    this.writer.tree.close();
  }

  get #branch(): string {
    return this.writer.tree.branch;
  }
}
