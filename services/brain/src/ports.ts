/** What the brain asks of others, in its own words. */
import type { Policy, PolicyMode } from '@svc/contract/policy.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Subject } from '@svc/contract/subject.ts';

/** The policies attached on the way to a file, as the search index knows them. */
export interface RowChain {
  /** Equal id, equal policies; 0 = none. */
  readonly id: number;
  /** Some field of such a file may be hidden, so that it is not shown and indexed as it lies on disk. */
  readonly hides: HidesFields;
  /** What of a file is indexed: the shown text without its masked fields; null = nothing of it is shown to anybody. */
  indexed(path: string, text: string): string | null;
}

/** The rules of one brain, whoever asks. The same object answers the same for as long as it lives. */
export interface RowChains {
  chainOf(path: string): RowChain;
}

/** `because`: the rule that admitted, `no-policy`, `no-rules`, or why not: `container`, `no-match`, `transform`. */
export interface RowVerdict {
  readonly allowed: boolean;
  readonly because: string;
  /** Of the policy that decided; null without one. */
  readonly container: string | null;
}

export type WriteDenial = 'RLS_DENIED' | 'E_ISLAND_WRITE_DENIED';

/** The row rules of one brain as they apply to one subject, fixed for the length of one operation. */
export interface RowView {
  /** The brain itself may be seen. */
  readonly mayOpen: boolean;
  /** What belongs to the brain as a whole may be changed: commits, branches, the lease, sync. */
  readonly mayChange: boolean;
  /** No policy is attached under the brain: every file is open, and none is hidden in part. */
  readonly isUnruled: boolean;
  /** Nothing that may be in the brain is hidden from the subject, neither a file nor a field of one. */
  readonly isWhole: boolean;
  /** As `isWhole`, but for what boundaries of islands hide. */
  readonly isWholeButIslands: boolean;
  /** Files and directories to which more policies apply than to the brain; whoever may open it reads all other files. */
  scopes(): string[];
  /** Files and directories with a boundary of their own, for which the one of their home does not count. */
  bounded(): string[];
  /** Workspaces whose files the subject may not read where they have no boundary of their own. */
  shutHomes(): string[];
  /** Single files and directories that may not be read; with directories all that is below them is meant. */
  unreadable(): string[];
  readonly chains: RowChains;
  mayRead(path: string): boolean;
  mayWrite(path: string): boolean;
  /** Why the file may not be written, or null. `maker`: where it is at home when it is made by that; null = with the brain. */
  writeDenial(path: string, maker?: string | null): WriteDenial | null;
  verdict(path: string, mode: PolicyMode): RowVerdict;
  /** The policy attached to an island's boundary, if there is one. */
  gate(island: string): Policy | null;
  /** Ids of the chains whose files may be read, of all that `chains` has named so far; null = all. */
  admitted(): ReadonlySet<number> | null;
  /** Some field of the file may be hidden: its text, size and hash are not shown as they are. */
  readonly hides: HidesFields;
  /** The text as it is shown; null when it must not be shown at all, because the hidden fields cannot be told apart. */
  shown(path: string, text: string): string | null;
  /**
   * What a write of `incoming` makes of the file: hidden values of the `present` text stay where `incoming` leaves them
   * out or shows them masked. Null when `incoming` cannot hold them.
   */
  merged(path: string, present: string | null, incoming: string): string | null;
  /** The hash as it is shown and taken as `ifMatch`. `state` = the branch, or the past state that was read. */
  shownHash(state: string, path: string, hash: string): string;
}

/** Whether some field of the file may be hidden. */
export type HidesFields = (path: string) => boolean;

/** What an event of a brain may tell to all who hear it. */
export interface EventRules {
  readonly isUnruled: boolean;
  /** As `isUnruled`, but for boundaries of islands. */
  readonly isUnruledButIslands: boolean;
  /** Resources besides the brain of which a listener must be a reader to know that the file is there. */
  narrower(path: string): readonly string[];
}

/** Where the files of a brain are at home that are not where it is; changes as files are made. */
export interface FilePlaces {
  workspaceOf(path: string): string | null;
  workspaces(): Iterable<string>;
  pathsIn(workspace: string): readonly string[];
}

export interface RowRules {
  /** `stamp` null = the registry is asked for its own. Throws SERVICE_UNAVAILABLE when the rules cannot be had. */
  view(subject: Subject, brain: string, stamp: RegistryStamp | null): Promise<RowView>;
  /** The same for several brains, in their order. */
  views(subject: Subject, brains: readonly string[], stamp: RegistryStamp | null): Promise<RowView[]>;
  /** Where the files of a brain are at home that is opened here; null = it was closed. */
  place(brain: string, places: FilePlaces | null): void;
  /** Which files have hidden fields now; every file that could when the rules cannot be had. */
  hiding(brain: string): Promise<HidesFields>;
  /** As `hiding`, as of the last time anybody asked about the brain: for use where nothing may be waited for. */
  lastHiding(brain: string): HidesFields;
  /** Those that were known last when the rules cannot be had; when none were, nothing is told. */
  eventRules(brain: string): Promise<EventRules>;
}

/** As the service itself works: nothing is judged, nothing hidden. */
export const UNJUDGED: RowView = {
  mayOpen: true,
  mayChange: true,
  isUnruled: true,
  isWhole: true,
  isWholeButIslands: true,
  scopes: () => [],
  bounded: () => [],
  shutHomes: () => [],
  unreadable: () => [],
  chains: { chainOf: () => OPEN_CHAIN },
  mayRead: () => true,
  mayWrite: () => true,
  writeDenial: () => null,
  verdict: () => ({ allowed: true, because: 'no-policy', container: null }),
  gate: () => null,
  admitted: () => null,
  hides: () => false,
  shown: (_path, text) => text,
  merged: (_path, _present, incoming) => incoming,
  shownHash: (_state, _path, hash) => hash,
};

/** Of a file without a policy on its way. */
export const OPEN_CHAIN: RowChain = { id: 0, hides: () => false, indexed: (_path, text) => text };
