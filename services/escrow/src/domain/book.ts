/**
 * The rows that several decisions are judged on, one after the other, before any of them is written. A decision reads the
 * book and answers with effects; a denied one has none, so it leaves no trace.
 */
import { type Account, isSink } from './account.ts';
import { type Entry, type EntryKind, postingsOf } from './entry.ts';
import { claimOf, type Hold, holdKey, type HoldName, isDue } from './hold.ts';
import type { Member } from './member.ts';

export type LedgerEvent =
  | 'escrow:budgeted'
  | 'escrow:held'
  | 'escrow:posted'
  | 'escrow:released'
  | 'escrow:expired'
  | 'escrow:spent'
  | 'escrow:refunded'
  | 'escrow:repaired';

/** What happened, for whoever listens and for the audit. Amounts in micro-credits. */
export interface Fact {
  readonly event: LedgerEvent;
  /** Null = a record that names nobody. */
  readonly account: string | null;
  readonly payee?: string;
  readonly member?: string;
  readonly holdId?: string;
  readonly entryId?: string;
  readonly amount?: bigint;
  /** Who placed the hold. */
  readonly owner?: string;
}

/** New versions of what changed. */
export interface Effects {
  readonly accounts?: readonly Account[];
  readonly members?: readonly Member[];
  readonly holds?: readonly Hold[];
  readonly entries?: readonly Entry[];
  readonly facts?: readonly Fact[];
}

/** An earlier payment, for refunds. */
export interface PaidEntry {
  readonly entryId: string;
  readonly kind: EntryKind;
  readonly account: string;
  readonly member: string | null;
  readonly payee: string | null;
  readonly amount: bigint;
  readonly refunded: bigint;
}

/** A reference that was used. */
export interface UsedReference {
  readonly kind: EntryKind;
  readonly ref: string;
  readonly bodyHash: string | null;
  readonly answer: Readonly<Record<string, unknown>> | null;
}

export interface BookRows {
  /** Clock of the database after the rows were locked, ms since the epoch. */
  readonly now: number;
  readonly accounts: readonly Account[];
  readonly members: readonly Member[];
  /** Those that have their names now, and some that only wait to be tidied up. */
  readonly holds: readonly Hold[];
  readonly paid: readonly PaidEntry[];
  readonly references: readonly UsedReference[];
  /** Owner -> live holds. */
  readonly holdCounts: ReadonlyMap<string, number>;
}

export function memberKey({ workspaceId, agentId }: Pick<Member, 'workspaceId' | 'agentId'>): string {
  return `${workspaceId} ${agentId}`;
}

function referenceKey(kind: EntryKind, ref: string): string {
  return `${kind} ${ref}`;
}

export class Book {
  readonly now: number;
  readonly #accounts: Map<string, Account>;
  readonly #members: Map<string, Member>;
  readonly #due: readonly Hold[];
  readonly #named: Map<string, Hold>;
  readonly #paid: Map<string, PaidEntry>;
  readonly #references: Map<string, UsedReference>;
  readonly #holdCounts: Map<string, number>;
  readonly #holds = new Map<bigint, Hold>();
  readonly #changedAccounts = new Set<string>();
  readonly #changedMembers = new Set<string>();
  readonly #entries: Entry[] = [];
  #lastNewSeq = 0n;

  constructor({ now, accounts, members, holds, paid, references, holdCounts }: BookRows) {
    this.now = now;
    this.#accounts = new Map(accounts.map((account) => [account.accountId, account]));
    this.#members = new Map(members.map((member) => [memberKey(member), member]));
    this.#due = holds.filter((hold) => isDue(hold, now));
    const rest = holds.filter((hold) => !isDue(hold, now));
    this.#named = new Map([...this.#due, ...rest].map((hold) => [holdKey(hold), hold]));
    this.#paid = new Map(paid.map((entry) => [entry.entryId, entry]));
    this.#references = new Map(references.map((used) => [referenceKey(used.kind, used.ref), used]));
    this.#holdCounts = new Map(holdCounts);
  }

  account(accountId: string): Account | null {
    return this.#accounts.get(accountId) ?? null;
  }

  member(key: Pick<Member, 'workspaceId' | 'agentId'>): Member | null {
    return this.#members.get(memberKey(key)) ?? null;
  }

  /** The hold that has the name now. */
  hold(name: HoldName): Hold | null {
    return this.#named.get(holdKey(name)) ?? null;
  }

  /** Live holds that callers have given the id: each principal has at most one. */
  holdsWithId(holdId: string): readonly Hold[] {
    const named = [...this.#named.values()].filter((hold) => hold.holdId === holdId && hold.ownerKind === 'caller');
    return named.filter((hold) => !isDue(hold, this.now));
  }

  /** Those past their time, not tidied up yet. */
  dueHolds(): readonly Hold[] {
    const known = [...this.#due, ...this.#named.values()].map((hold) => this.#holds.get(hold.seq) ?? hold);
    return [...new Set(known)].filter((hold) => isDue(hold, this.now));
  }

  paid(entryId: string): PaidEntry | null {
    return this.#paid.get(entryId) ?? null;
  }

  reference(kind: EntryKind, ref: string): UsedReference | null {
    return this.#references.get(referenceKey(kind, ref)) ?? null;
  }

  liveHolds(owner: string): number {
    return this.#holdCounts.get(owner) ?? 0;
  }

  /** Number for a hold that has no row yet. */
  newSeq(): bigint {
    return this.#lastNewSeq - 1n;
  }

  apply({ accounts = [], members = [], holds = [], entries = [] }: Effects): void {
    for (const account of accounts) {
      this.#accounts.set(account.accountId, account);
      this.#changedAccounts.add(account.accountId);
    }
    for (const member of members) {
      this.#members.set(memberKey(member), member);
      this.#changedMembers.add(memberKey(member));
    }
    for (const hold of holds) this.#applyHold(hold);
    for (const entry of entries) this.#applyEntry(entry);
  }

  /** What is to be written. */
  changes() {
    return {
      accounts: [...this.#accounts.values()].filter(({ accountId }) => this.#changedAccounts.has(accountId)),
      members: [...this.#members.values()].filter((member) => this.#changedMembers.has(memberKey(member))),
      holds: [...this.#holds.values()],
      entries: this.#entries,
    };
  }

  #applyHold(hold: Hold): void {
    const isNew = hold.seq < 0n && !this.#holds.has(hold.seq);
    this.#holds.set(hold.seq, hold);
    if (hold.seq < this.#lastNewSeq) this.#lastNewSeq = hold.seq;
    const key = holdKey(hold);
    if (claimOf(hold) !== null) this.#named.set(key, hold);
    else if (this.#named.get(key)?.seq === hold.seq) this.#named.delete(key);
    // What is past its time was not counted any more.
    const isCounted = hold.ownerKind === 'caller' && hold.expiresAt > this.now;
    const change = hold.state !== 'held' ? -1 : isNew ? 1 : 0;
    if (isCounted) this.#holdCounts.set(hold.owner, this.liveHolds(hold.owner) + change);
  }

  #applyEntry(entry: Entry): void {
    this.#entries.push(entry);
    const { entryId, kind, ref, account, member, payee, amount, refundOf, bodyHash, answer } = entry;
    this.#paid.set(entryId, { entryId, kind, account, member, payee, amount, refunded: 0n });
    if (ref !== null) this.#references.set(referenceKey(kind, ref), { kind, ref, bodyHash, answer });
    const original = refundOf === null ? undefined : this.#paid.get(refundOf);
    if (original) this.#paid.set(original.entryId, { ...original, refunded: original.refunded + amount });
  }
}

export type Changes = ReturnType<Book['changes']>;

/** What went into sinks: sink -> amount, negative when refunds outweigh payments. */
export function sinkChanges({ entries }: Pick<Changes, 'entries'>): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { account, amount } of entries.flatMap(postingsOf)) {
    if (isSink(account)) sums.set(account, (sums.get(account) ?? 0n) + amount);
  }
  return sums;
}
