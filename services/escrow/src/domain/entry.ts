/** Entries of the ledger: what was posted from whom to whom, numbered and chained by hash for each account that pays. */
import { hash } from 'node:crypto';
import type { Account } from './account.ts';

/** `limit` and `repair` move nothing and have no postings. */
export type EntryKind = 'spend' | 'capture' | 'refund' | 'limit' | 'repair';

export interface EntryDraft {
  readonly entryId: string;
  readonly kind: EntryKind;
  readonly by: string;
  /** Micro-credits; of a `limit` entry the limit that was set. */
  readonly amount: bigint;
  readonly ref?: string | null;
  readonly memo?: string | null;
  /** Of a pool: the member who drew. */
  readonly member?: string | null;
  readonly payee?: string | null;
  readonly refundOf?: string | null;
  /** What the reference was first used with, and what was answered. */
  readonly bodyHash?: string | null;
  readonly answer?: Readonly<Record<string, unknown>> | null;
}

export type Entry = { readonly [Field in keyof Required<EntryDraft>]: Exclude<EntryDraft[Field], undefined> } & {
  /** The account that pays. */
  readonly account: string;
  readonly no: bigint;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly prevHash: string | null;
  readonly hash: string;
};

interface Posting {
  readonly entryId: string;
  readonly line: number;
  readonly account: string;
  readonly amount: bigint;
}

/** The account with the entry at the end of its chain. */
export function enter(account: Account, draft: EntryDraft, at: number): { account: Account; entry: Entry } {
  const linked = {
    ref: null,
    memo: null,
    member: null,
    payee: null,
    refundOf: null,
    bodyHash: null,
    answer: null,
    ...draft,
    account: account.accountId,
    no: account.entryCount + 1n,
    at,
    prevHash: account.lastHash,
  };
  const entry = { ...linked, hash: hash('sha256', chainText(linked), 'hex') };
  return { account: { ...account, entryCount: entry.no, lastHash: entry.hash }, entry };
}

/** The audit computes the same text in SQL, spaces included (`json_build_array`). */
function chainText(entry: Omit<Entry, 'hash'>): string {
  const { entryId, account, no, at, kind, ref, by, memo, member, payee, amount, refundOf, prevHash } = entry;
  const fields = [entryId, account, String(no), String(at), kind, ref, by, memo, member, payee];
  let text = '';
  for (const field of [...fields, String(amount), refundOf, prevHash]) {
    text += `${text === '' ? '[' : ', '}${field === null ? 'null' : JSON.stringify(field)}`;
  }
  return `${text}]`;
}

/** Their sum is 0. A refund turns the lines of a payment round. */
export function postingsOf({ entryId, kind, account, payee, amount }: Entry): readonly Posting[] {
  if (payee === null || kind === 'limit' || kind === 'repair') return [];
  const paid = kind === 'refund' ? -amount : amount;
  return [
    { entryId, line: 0, account, amount: -paid },
    { entryId, line: 1, account: payee, amount: paid },
  ];
}
