/** A line of spending as a value. All amounts are micro-credits. */
import { creditsFromAmount, type AmountMicros } from '@svc/contract/amount.ts';

export type AccountKind = 'budget' | 'pool';

export interface Account {
  readonly accountId: string;
  readonly kind: AccountKind;
  readonly limit: bigint;
  readonly spent: bigint;
  readonly earned: bigint;
  /** Sum of the live reservations. */
  readonly pending: bigint;
  /** Number and hash of its newest entry. */
  readonly entryCount: bigint;
  readonly lastHash: string | null;
  readonly frozen: boolean;
  /** Of the row that was read; 0 = there is none yet. */
  readonly version: bigint;
}

/** A budget as callers see it, in credits. */
export interface Budget {
  readonly spent: number;
  readonly limit: number;
  readonly available: number;
  readonly pending: number;
  readonly earned: number;
}

const POOL_PREFIX = 'ws:';
const SINK_PREFIX = 'sink:';
/** Where money goes when nobody is named. */
export const DEFAULT_SINK = 'sink:spend';

export function poolOf(workspaceId: string): string {
  return `${POOL_PREFIX}${workspaceId}`;
}

/** The workspace whose pool it is, or null. */
export function workspaceOfAccount(accountId: string): string | null {
  return accountId.startsWith(POOL_PREFIX) ? accountId.slice(POOL_PREFIX.length) : null;
}

/** The identity that a line of spending is for, as in `scenario:materialize:<identity>`, or null. */
export function identityOfAccount(accountId: string): string | null {
  return /^scenario:[^:]+:(.+)$/.exec(accountId)?.[1] ?? null;
}

export function isSink(accountId: string): boolean {
  return accountId.startsWith(SINK_PREFIX);
}

export function openedAccount(accountId: string, limit: bigint): Account {
  return {
    accountId,
    kind: workspaceOfAccount(accountId) === null ? 'budget' : 'pool',
    limit,
    spent: 0n,
    earned: 0n,
    pending: 0n,
    entryCount: 0n,
    lastHash: null,
    frozen: false,
    version: 0n,
  };
}

type Balances = Pick<Account, 'limit' | 'spent' | 'earned' | 'pending'>;

export function available({ limit, spent, earned, pending }: Balances): bigint {
  const left = limit + earned - spent - pending;
  return left > 0n ? left : 0n;
}

export function credits(micros: bigint): number {
  return creditsFromAmount(micros as AmountMicros);
}

export function budgetOf(account: Balances): Budget {
  return {
    spent: credits(account.spent),
    limit: credits(account.limit),
    available: credits(available(account)),
    pending: credits(account.pending),
    earned: credits(account.earned),
  };
}
