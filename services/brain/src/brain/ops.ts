/**
 * What can be asked of one brain. Arguments and results are plain data: the brain may live in another process, and the
 * router then carries them over the bus. Methods throw CallError for call errors; expected refusals are decisions.
 */
import type { Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { RemoteCode } from '../git/remote-error.ts';
import type { LeaseView } from '../domain/lease.ts';
import type { EntryKind } from '../files/file-entry.ts';
import type { ChangeKind, LeftEntry } from '../files/file-table.ts';
import type { SearchResult } from '../search/search-answer.ts';
import type { FileRefusal, GuardRefusal } from '../writer/branch-writer.ts';
import type { OpContext } from '../writer/context.ts';
import type { Counters } from '../writer/counters.ts';
import type { Grant } from '../writer/lease-keeper.ts';
import type { FileOutcome } from '../writer/staging.ts';
import type {
  BranchDeleted,
  BranchMerge,
  ConflictResolved,
  ConflictRow,
  ConflictTake,
  ConflictTexts,
} from './branch-results.ts';
import type { AmendedIsland, AmendmentWish, MadeIsland, NewIsland } from './island-writes.ts';
import type { IslandPage, LoadedIsland } from './islands.ts';
import type { Retired, RetireRefusal } from './retirement.ts';

export interface Op {
  readonly context: OpContext;
}

export interface BranchOp extends Op {
  readonly branch: string;
}

export interface FileView {
  readonly file: string;
  readonly content: string;
  readonly bytes: number;
  readonly hash: string;
  readonly branch: string;
  /** The branch's head when the file is as committed there, else null. */
  readonly commit: string | null;
  readonly dirty: boolean;
  /** Milliseconds since the epoch; null for past states. */
  readonly modifiedAt: number | null;
}

export interface ListedFile {
  readonly file: string;
  readonly bytes: number;
  /** Empty where the bytes are not read. */
  readonly hash: string;
  readonly modifiedAt: number | null;
  /** Only text is served. */
  readonly kind: EntryKind;
  /** Why it is not served, or not written, as the end of a sentence. */
  readonly problem: string | null;
}

export interface FilePage {
  readonly files: readonly (ListedFile & { readonly title?: string; readonly content?: string })[];
  /** The last file of the page when there are more. */
  readonly next: string | null;
}

export interface SearchRow extends SearchResult {
  readonly commit: string | null;
}

export interface BranchRow {
  readonly name: string;
  readonly commit: string;
  readonly dirty: boolean;
  readonly changedFiles: number;
  readonly worktree: boolean;
  readonly ahead: number | null;
  readonly behind: number | null;
  /** Milliseconds since the epoch of the last commit. */
  readonly updatedAt: number;
}

export interface DirtyFile {
  readonly file: string;
  readonly change: ChangeKind;
}

/** What differs from the last commit, the first of each list. */
export interface DirtyState {
  readonly files: readonly DirtyFile[];
  readonly count: number;
  /** What a commit would leave as it is. */
  readonly left: readonly LeftEntry[];
  readonly leftCount: number;
}

/** Entries of one kind that are not served for one reason. */
export interface UnservedGroup {
  readonly kind: EntryKind;
  readonly problem: string;
  readonly count: number;
}

export interface CommitOutcome {
  readonly committed: boolean;
  readonly commit: string;
  readonly parent: string | null;
  readonly message: string;
  readonly files: readonly DirtyFile[];
  readonly count: number;
}

export interface BranchCreated {
  readonly name: string;
  readonly commit: string;
  readonly from: string;
  readonly uncommittedLeft: number;
}

export interface AutoBranch {
  readonly branch: string | null;
  readonly commit: string | null;
  readonly files: readonly DirtyFile[];
}

export interface BrainProblem {
  readonly code: string;
  readonly text: string;
}

export interface BrainSummary {
  readonly name: string;
  readonly branches: number;
  readonly files: number;
  readonly dirty: number;
  readonly commit: string;
  readonly modifiedAt: number | null;
  readonly problems: readonly BrainProblem[];
  readonly openConflicts: number;
  /** Of every open working tree. */
  readonly unserved: readonly UnservedGroup[];
  readonly remote: { readonly configured: boolean; readonly ahead: number | null; readonly behind: number | null };
  readonly queue: { readonly depth: number; readonly oldestMs: number };
  /** Rows and bytes in memory; a branch that nobody searches has none there. */
  readonly index: { readonly rows: number; readonly pending: number; readonly bytes: number };
  /** Of the process that owns the brain. */
  readonly counters: Pick<Counters, 'mutex' | 'lease'>;
}

export interface SyncOutcome {
  readonly branch: string;
  readonly remote: string;
  readonly direction: 'push' | 'pull' | 'both';
  readonly status: string;
  readonly before: string;
  readonly after: string;
  readonly remoteCommit: string | null;
  readonly pulled: { readonly added: number; readonly updated: number; readonly deleted: number };
  readonly pushed: number;
  readonly conflicts: readonly SyncConflict[];
  readonly rescue: string | null;
  /** The remote took commits out of its history since the last fetch; `rescue` has where it was. */
  readonly rewritten: boolean;
  /** Readable files that differ from the last commit and so stay here. */
  readonly uncommittedLeft: number;
}

export interface SyncConflict {
  readonly id: string;
  readonly file: string;
  readonly kind: string;
  readonly ours: string | null;
  readonly theirs: string | null;
}

/** A commit, with what it changed against its first parent as far as that may be known. */
export interface HistoryRow {
  readonly commit: string;
  readonly parents: readonly string[];
  readonly author: string;
  readonly agent?: string;
  readonly at: number;
  readonly message: string;
  readonly files: readonly ChangedFile[];
  readonly count: number;
}

export interface ChangedFile {
  readonly file: string;
  readonly change: ChangeKind;
}

export interface HistoryPage {
  readonly rows: readonly HistoryRow[];
  /** Where the next page begins; null = there is none. */
  readonly next: number | null;
}

export interface DiffRow {
  readonly file: string;
  readonly change: ChangeKind;
  /** Lines; null of what is not text, as is `patch`. */
  readonly added: number | null;
  readonly removed: number | null;
  readonly patch: string | null;
  readonly truncated: boolean;
}

export interface DiffPage {
  readonly rows: readonly DiffRow[];
  /** The last file that was looked at when there may be more. */
  readonly next: string | null;
}

export type ReadRefusal = 'E_BRANCH_ABSENT' | 'E_REF_ABSENT';
export type CommitRefusal = GuardRefusal | 'E_BRANCH_ABSENT' | 'E_BUSY' | 'E_LIMIT' | 'E_STATE_WRITE';
export type WriteRefusal = FileRefusal | 'E_BRANCH_ABSENT' | 'E_LIMIT';
export type SyncRefusal =
  | CommitRefusal
  | RemoteCode
  | 'E_NOT_CONFIGURED'
  | 'E_REMOTE_RACE'
  | 'E_UNDER_WAY'
  | 'E_SYNC_CONFLICT';

export interface BrainOps {
  read(
    op: BranchOp & { path: string; at: string | null },
  ): Promise<Decision<FileView, ReadRefusal | 'E_FILE_ABSENT' | 'E_NOT_TEXT'>>;
  list(
    op: BranchOp & {
      category: string | null;
      at: string | null;
      limit: number;
      after: string | null;
      withContent: boolean;
      withTitle: boolean;
    },
  ): Promise<Decision<FilePage, ReadRefusal>>;
  search(
    op: BranchOp & {
      query: string;
      mode: 'plain' | 'hybrid';
      limit: number;
      group: 'file' | 'passage';
      pathPrefix: string | null;
      explain: boolean;
    },
  ): Promise<Decision<{ rows: SearchRow[]; total: number }, ReadRefusal>>;
  change(
    op: BranchOp & { path: string; content: string | null; ifMatch: string | null },
  ): Promise<Once<FileOutcome, WriteRefusal>>;
  commit(op: BranchOp & { message: string; only: string | null }): Promise<Once<CommitOutcome, CommitRefusal>>;
  branches(op: Op & { limit: number; after: string | null }): Promise<{ branches: BranchRow[]; next: string | null }>;
  createBranch(
    op: BranchOp & { name: string; from: string | null },
  ): Promise<Once<BranchCreated, CommitRefusal | 'E_BRANCH_EXISTS' | 'E_REF_ABSENT'>>;
  /** Makes the branch ready for writing, from the remote's if only that has it; answers its head. */
  openBranch(op: BranchOp & { create: boolean }): Promise<Decision<{ commit: string }, 'E_BRANCH_ABSENT' | 'E_LIMIT'>>;
  autoBranch(op: BranchOp & { prefix: string }): Promise<Once<AutoBranch, CommitRefusal>>;
  dirty(op: BranchOp): Promise<Decision<DirtyState, ReadRefusal>>;
  /** Branches with uncommitted files. */
  changed(op: Op): Promise<{ branch: string; files: number }[]>;
  summary(op: Op): Promise<BrainSummary>;
  leaseView(op: Op): Promise<LeaseView>;
  acquire(
    op: Op & { token: string | null; ttlMs: number; holdsAtMostMs: number | null },
  ): Promise<Once<Grant, 'E_LOCKED'> & { token: string | null }>;
  release(op: Op & { token: string | null }): Promise<Once<null, 'E_LEASE_ABSENT' | 'E_LEASE_TOKEN'>>;
  force(op: Op): Promise<Once<{ forced: boolean; fence: number }, never>>;
  sync(
    op: BranchOp & { direction: 'push' | 'pull' | 'both'; remote: string | null },
  ): Promise<Once<SyncOutcome, SyncRefusal>>;
  /** Definitions of the islands after the name `after`, a page at a time. */
  islands(op: BranchOp & { after: string | null }): Promise<Decision<IslandPage, ReadRefusal>>;
  /** Null when there is none that may be read; `append` = with the files of its sources. */
  island(op: BranchOp & { name: string; append: boolean }): Promise<Decision<LoadedIsland | null, ReadRefusal>>;
  /** All of them or none. */
  createIslands(
    op: BranchOp & { islands: readonly NewIsland[] },
  ): Promise<Once<readonly MadeIsland[], WriteRefusal | 'E_ISLAND_EXISTS'>>;
  amendIsland(
    op: BranchOp & AmendmentWish,
  ): Promise<Once<AmendedIsland, WriteRefusal | 'E_ISLAND_ABSENT' | 'E_ISLAND_INVALID'>>;
  removeIsland(
    op: BranchOp & { name: string },
  ): Promise<Once<{ readonly name: string }, WriteRefusal | 'E_ISLAND_ABSENT'>>;
  mergeBranch(
    op: BranchOp & { from: string; message: string | null; dryRun: boolean },
  ): Promise<Once<BranchMerge, CommitRefusal | 'E_REF_ABSENT'>>;
  deleteBranch(op: BranchOp): Promise<Once<BranchDeleted, CommitRefusal | 'E_BRANCH_PROTECTED'>>;
  renameBranch(
    op: BranchOp & { to: string },
  ): Promise<Once<{ readonly commit: string }, CommitRefusal | 'E_BRANCH_PROTECTED' | 'E_BRANCH_EXISTS'>>;
  /** Open ones, or settled ones, of a branch in order of their ids. */
  conflicts(
    op: BranchOp & { file: string | null; resolved: boolean; limit: number; after: string | null },
  ): Promise<{ conflicts: ConflictRow[]; next: string | null }>;
  readConflict(op: Op & { id: string }): Promise<Decision<ConflictTexts, 'E_NOT_FOUND'>>;
  resolveConflict(
    op: Op & { id: string; take: ConflictTake; content: string | null; ifMatch: string | null },
  ): Promise<Once<ConflictResolved, WriteRefusal | 'E_BUSY' | 'E_NOT_FOUND' | 'E_NOT_TEXT'>>;
  /** `tip`: the commit from which on it was told. */
  history(
    op: BranchOp & { path: string | null; at: string | null; start: number; limit: number },
  ): Promise<Decision<HistoryPage & { tip: string }, ReadRefusal>>;
  /** `from` null = the branch's last commit; `to` null = its files as they are, and then `toCommit` is null. */
  diff(
    op: BranchOp & {
      path: string | null;
      from: string | null;
      to: string | null;
      bytes: number;
      limit: number;
      after: string | null;
    },
  ): Promise<Decision<DiffPage & { fromCommit: string; toCommit: string | null }, ReadRefusal>>;
  /** Takes the brain from its name: to another one, or (`to` null) to the deleted ones. Who may is judged before. */
  retire(op: Op & { to: string | null }): Promise<Once<Retired, RetireRefusal>>;
  /** Resolves true when the writes queued by now have settled, false when `waitMs` passed first. */
  settle(op: Op & { waitMs: number }): Promise<boolean>;
}
