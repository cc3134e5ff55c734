/** Limits: of budgets, pools and members. Setting one moves no money. */
import { allow, deny } from '@svc/contract/decision.ts';
import { type Account, type Budget, budgetOf, credits, openedAccount, poolOf } from './account.ts';
import type { Book, Effects } from './book.ts';
import { enter, type EntryDraft } from './entry.ts';
import { frozen } from './funds.ts';
import type { Ruling } from './hold-rules.ts';
import { type MemberBudget, memberBudgetOf, newMember } from './member.ts';
import { type Reference, replayOf } from './spend-rules.ts';

export interface LimitWish {
  readonly account: string;
  /** Null = as it is, or `opensWith`. */
  readonly limit: bigint | null;
  readonly opensWith: bigint;
  readonly by: string;
  readonly entryId: string;
  /** The account was found whole by the audit and is no longer to be frozen. */
  readonly repairs: boolean;
}

type LimitCode = 'E_LIMIT_BELOW_COMMITTED' | 'E_LEDGER_FROZEN';

export function decideLimit(book: Book, wish: LimitWish): Ruling<{ budget: Budget; created: boolean }, LimitCode> {
  const known = book.account(wish.account);
  const before = known ?? openedAccount(wish.account, wish.limit ?? wish.opensWith);
  if (before.frozen && !wish.repairs) return frozen();
  const limit = wish.limit ?? before.limit;
  if (limit + before.earned < before.spent + before.pending) {
    return deny('E_LIMIT_BELOW_COMMITTED', { committed: credits(before.spent + before.pending) });
  }
  const isChanged = known === null || limit !== before.limit || before.frozen;
  const limited = { ...before, limit };
  const created = known === null;
  if (!isChanged) return allow({ answer: { budget: budgetOf(limited), created }, effects: {} });
  return allow({ answer: { budget: budgetOf(limited), created }, effects: limitEffects(book, limited, wish) });
}

function limitEffects(book: Book, limited: Account, { entryId, by }: LimitWish): Effects {
  const draft: EntryDraft = { entryId, kind: limited.frozen ? 'repair' : 'limit', by, amount: limited.limit };
  const { account, entry } = enter({ ...limited, frozen: false }, draft, book.now);
  const event = limited.frozen ? 'escrow:repaired' : 'escrow:budgeted';
  return {
    accounts: [account],
    entries: [entry],
    facts: [{ event, account: account.accountId, entryId, amount: account.limit }],
  };
}

export interface MemberLimitWish {
  readonly workspaceId: string;
  readonly agentId: string;
  /** Null = the pool's. */
  readonly limit: bigint | null;
  readonly by: string;
  readonly entryId: string;
}

export function decideMemberLimit(book: Book, wish: MemberLimitWish): Ruling<MemberBudget, LimitCode> {
  const { workspaceId, agentId, limit, by, entryId } = wish;
  const known = book.account(poolOf(workspaceId));
  const pool = known ?? openedAccount(poolOf(workspaceId), 0n);
  if (pool.frozen) return frozen();
  const earlier = book.member({ workspaceId, agentId });
  const before = earlier ?? newMember(workspaceId, agentId);
  const committed = before.spent + before.pending;
  if (limit !== null && limit < committed) return deny('E_LIMIT_BELOW_COMMITTED', { committed: credits(committed) });
  const member = { ...before, limit };
  const answer = memberBudgetOf(member, pool);
  if (earlier?.limit === limit) return allow({ answer, effects: {} });
  const fact = { event: 'escrow:budgeted', account: pool.accountId, member: agentId } as const;
  const effects = { members: [member], facts: [{ ...fact, ...(limit === null ? {} : { amount: limit }) }] };
  if (known === null) return allow({ answer, effects });
  const draft: EntryDraft = { entryId, kind: 'limit', by, amount: limit ?? 0n, member: agentId };
  const { account, entry } = enter(known, draft, book.now);
  return allow({ answer, effects: { ...effects, accounts: [account], entries: [entry] } });
}

export interface OpenWish extends Reference {
  readonly account: string;
  readonly limit: bigint;
  readonly by: string;
  readonly entryId: string;
}

export interface Opened {
  readonly opened: true;
  readonly created: boolean;
}

/** Opening what is open with the same limit is fine, and noted under its reference. */
export function decideOpen(
  book: Book,
  wish: OpenWish,
): Ruling<Opened, 'E_ACCOUNT_EXISTS' | 'E_REF_REUSED' | 'E_LEDGER_FROZEN'> {
  const replay = replayOf(book.reference('limit', wish.ref), wish.bodyHash);
  if (replay !== null) return replay as Ruling<Opened, 'E_REF_REUSED'>;
  const known = book.account(wish.account);
  if (known !== null && known.limit !== wish.limit) return deny('E_ACCOUNT_EXISTS', { limit: credits(known.limit) });
  if (known?.frozen === true) return frozen();
  const answer = { opened: true, created: known === null } as const;
  const { entryId, by, ref, bodyHash, limit } = wish;
  const draft: EntryDraft = { entryId, kind: 'limit', by, amount: limit, ref, bodyHash, answer };
  const { account, entry } = enter(known ?? openedAccount(wish.account, limit), draft, book.now);
  const facts =
    known === null ? [{ event: 'escrow:budgeted', account: wish.account, entryId, amount: limit } as const] : [];
  return allow({ answer, effects: { accounts: [account], entries: [entry], facts } });
}
