/** What merging, deleting and conflicts of branches answer; plain data, like all of `ops.ts`. */
export interface BranchMerge {
  readonly status: string;
  readonly before: string;
  /** Null of a forecast. */
  readonly after: string | null;
  readonly files: { readonly added: number; readonly updated: number; readonly deleted: number };
  readonly conflicts: readonly {
    /** Null of a forecast. */
    readonly id: string | null;
    readonly file: string;
    readonly kind: string;
    readonly ours: string | null;
    readonly theirs: string | null;
  }[];
  readonly rescue: string | null;
  /** Files that were uncommitted before. */
  readonly committed: number;
  /** Of a forecast: files that would be committed first. */
  readonly uncommitted: number;
  /** Files that stay uncommitted on the branch that was merged. */
  readonly uncommittedLeft: number;
}

export interface BranchDeleted {
  readonly commit: string;
  /** Reads as `rescue/<this>/branch`, and `work` when there were uncommitted files. */
  readonly rescue: string;
  readonly uncommitted: number;
  /** Commits that no other branch has. */
  readonly unmerged: number;
  /** Files that no commit takes are left in a directory that is set aside. */
  readonly setAside: boolean;
}

export interface ConflictRow {
  readonly id: string;
  readonly file: string;
  readonly kind: string;
  /** Blob ids; null also where hidden fields forbid to tell. */
  readonly base: string | null;
  readonly ours: string | null;
  readonly theirs: string | null;
  readonly rescue: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly resolvedAt: number | null;
}

/** One side of a conflict; null in its place = that side has no such file. */
export interface ConflictSide {
  /** Null when it is not text, longer than 1 MiB, no longer kept, or must not be shown. */
  readonly text: string | null;
  readonly bytes: number | null;
}

export interface ConflictTexts extends Omit<ConflictRow, 'base' | 'ours' | 'theirs'> {
  readonly branch: string;
  readonly base: ConflictSide | null;
  readonly ours: ConflictSide | null;
  readonly theirs: ConflictSide | null;
}

export type ConflictTake = 'ours' | 'theirs' | 'merged' | 'content';

export interface ConflictResolved {
  readonly id: string;
  readonly file: string;
  readonly branch: string;
  readonly changed: boolean;
  /** Of the file now; null when it is gone, or nothing was written. */
  readonly hash: string | null;
}
