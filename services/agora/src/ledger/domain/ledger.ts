/** A topic and what was said on it: a header that never changes, admissions in gapless order, and one decision. */
import { createHash, type Hash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';

export const WEIGHTINGS = ['equal', 'trust'] as const;
type Weighting = (typeof WEIGHTINGS)[number];

export const VISIBILITIES = ['scope', 'public'] as const;

export interface Scope {
  /** `team:`, `dept:`, `org:`, `agent:` or `workspace:` and an id. */
  readonly owner: string;
  /** `scope`: members alone read it; `public`: everybody reads, members vote. */
  readonly visibility: (typeof VISIBILITIES)[number];
}

/** Times in ms since the epoch. */
export interface Header {
  readonly v: 1;
  readonly topic: string;
  /** Name of the node that admits and decides. */
  readonly owner: string;
  readonly author: string;
  /** The options, in their order. */
  readonly ballot: readonly string[];
  /** Heads, never weight. */
  readonly minQuorum: number;
  /** Per cent of the weight; 50 = more than half of it. */
  readonly threshold: number;
  readonly weighting: Weighting;
  /** What was voted shows when it is decided, at the deadline. */
  readonly sealed: boolean;
  readonly deadline: number;
  readonly createdAt: number;
  readonly scope: Scope | null;
  readonly thread: string | null;
}

export interface Ballot {
  /** Hash of the header. */
  readonly header: string;
  readonly topic: string;
  readonly voter: string;
  /** Whose principal the voter is. */
  readonly node: string;
  readonly outcome: string;
  readonly votedAt: number;
}

/** The owner's admission of a ballot. Signatures are null on a node without a name, which nothing leaves. */
export interface Entry {
  readonly seq: number;
  readonly ballot: Ballot;
  readonly ballotSig: string | null;
  /** Thousandths. */
  readonly weight: number;
  readonly admittedAt: number;
}

export type ClosedStatus = 'passed' | 'rejected' | 'expired';
export type Status = 'open' | ClosedStatus;

export interface Decision {
  readonly status: ClosedStatus;
  readonly winner: string | null;
  /** Counted heads. */
  readonly votes: number;
  /** Of the winner, else of whoever leads, else 0. */
  readonly percentage: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly decidedAt: number;
  /** So many admissions it was taken on. */
  readonly entries: number;
  readonly voided: readonly string[];
}

/** What the hash of a ledger covers of an admission. */
export interface HashedEntry {
  readonly ballot: string;
  readonly outcome: string;
  readonly seq: number;
  readonly void: boolean;
  readonly votedAt: number;
  readonly voter: string;
  readonly weight: number;
}

export function headerHash(header: Header): string {
  return labelled('svc-agora-header', canonicalJson(header)).digest('hex');
}

export function ballotHash(ballot: Ballot): string {
  return labelled('svc-agora-ballot', canonicalJson(ballot)).digest('hex');
}

export function entryHash(entry: Entry): string {
  return labelled('svc-agora-entry', canonicalJson(entry)).digest('hex');
}

/** While a sealed topic is open its hash covers how many there are, so that nobody can guess them back from it. */
export function sealedHash(header: string, entries: number): string {
  return labelled('svc-agora-ledger', canonicalJson({ decision: null, entries, header })).digest('hex');
}

/** `entries` by `seq`. */
export function ledgerHash(header: string, entries: Iterable<HashedEntry>, decision: Decision | null): string {
  const running = beginLedgerHash(decision);
  for (const entry of entries) running.add(entry);
  return running.end(header);
}

/** The hash of a ledger that grows: what is in it already is not read again. */
export interface RunningHash {
  readonly entries: number;
  add(entry: HashedEntry): void;
  /** One that goes on from here by itself. */
  copy(): RunningHash;
  /** May be asked at any time, and then be added to. */
  end(header: string): string;
}

export function beginLedgerHash(decision: Decision | null = null): RunningHash {
  return runningHash(labelled('svc-agora-ledger', `{"decision":${canonicalJson(decision)},"entries":[`), 0);
}

function runningHash(hash: Hash, hashed: number): RunningHash {
  let entries = hashed;
  return {
    get entries() {
      return entries;
    },
    add(entry) {
      if (entries > 0) hash.update(',');
      hash.update(canonicalJson(entry));
      entries += 1;
    },
    copy: () => runningHash(hash.copy(), entries),
    end: (header) =>
      hash
        .copy()
        .update(`],"header":${canonicalJson(header)}}`)
        .digest('hex'),
  };
}

function labelled(label: string, text: string): Hash {
  return createHash('sha256').update(`${label}\0${text}`);
}
