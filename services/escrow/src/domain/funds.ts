/** What a payer has: the account, for a pool also the member, and whether an amount fits. */
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import { type Account, available, budgetOf, credits, openedAccount, poolOf, workspaceOfAccount } from './account.ts';
import type { Book } from './book.ts';
import { drawDenial, type Member, memberAvailable, newMember } from './member.ts';

export interface Payer {
  readonly account: string;
  /** Of a pool: the member who draws. */
  readonly member: string | null;
  /** Limit with which the account opens if it does not exist; null = nobody of that name has a budget. */
  readonly opensWith: bigint | null;
}

export interface Funds {
  readonly account: Account;
  readonly member: Member | null;
}

interface DrawFunds extends Funds {
  readonly member: Member;
}

export type DrawCode = 'E_MEMBER_LIMIT' | 'E_POOL_EXCEEDED' | 'E_LEDGER_FROZEN';
export type FundsCode = DrawCode | 'E_BUDGET';

function readDrawFunds(book: Book, workspaceId: string, agentId: string): DrawFunds {
  const pool = poolOf(workspaceId);
  return {
    account: book.account(pool) ?? openedAccount(pool, 0n),
    member: book.member({ workspaceId, agentId }) ?? newMember(workspaceId, agentId),
  };
}

export function readFunds(book: Book, { account: accountId, member: agentId, opensWith }: Payer): Funds | null {
  const workspaceId = workspaceOfAccount(accountId);
  if (workspaceId !== null && agentId !== null) return readDrawFunds(book, workspaceId, agentId);
  const known = book.account(accountId);
  if (known !== null) return { account: known, member: null };
  return opensWith === null ? null : { account: openedAccount(accountId, opensWith), member: null };
}

/** The payer's funds when the amount fits into what is available. */
export function decideFunds(book: Book, payer: Payer, amount: bigint): Decision<Funds, FundsCode> {
  const workspaceId = workspaceOfAccount(payer.account);
  if (workspaceId !== null && payer.member !== null) return decideDrawFunds(book, workspaceId, payer.member, amount);
  const funds = readFunds(book, payer);
  if (funds === null) return deny('E_BUDGET', { reason: 'unknown_budget', available: 0 });
  if (funds.account.frozen) return frozen();
  if (available(funds.account) >= amount) return allow(funds);
  return deny('E_BUDGET', { reason: 'budget_exceeded', available: budgetOf(funds.account).available });
}

/** Of a pool, in the name of a member. */
export function decideDrawFunds(
  book: Book,
  workspaceId: string,
  agentId: string,
  amount: bigint,
): Decision<DrawFunds, DrawCode> {
  const funds = readDrawFunds(book, workspaceId, agentId);
  const { account, member } = funds;
  if (account.frozen) return frozen();
  const reason = drawDenial(member, account, amount);
  if (reason === null) return allow(funds);
  return deny(reason === 'member_limit_exceeded' ? 'E_MEMBER_LIMIT' : 'E_POOL_EXCEEDED', {
    reason,
    available: credits(memberAvailable(member, account)),
    poolAvailable: credits(available(account)),
  });
}

export function frozen(): Denial<'E_LEDGER_FROZEN'> {
  return deny('E_LEDGER_FROZEN', { reason: 'frozen' });
}

/** Sum of the reservations, up or down. */
export function reserve({ account, member }: Funds, amount: bigint): Funds {
  return {
    account: { ...account, pending: account.pending + amount },
    member: member && { ...member, pending: member.pending + amount },
  };
}

/** Sum of what was spent, up or down. */
export function spend({ account, member }: Funds, amount: bigint): Funds {
  return {
    account: { ...account, spent: account.spent + amount },
    member: member && { ...member, spent: member.spent + amount },
  };
}

export function effectsOf({ account, member }: Funds): { accounts: Account[]; members: Member[] } {
  return { accounts: [account], members: member === null ? [] : [member] };
}
