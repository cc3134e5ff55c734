/** With what limit an account opens that nobody created. Inventing names opens nothing. */
import { microsOf } from '@svc/contract/amount.ts';
import { CallError } from '@svc/contract/codes.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { identityOfAccount, isSink, workspaceOfAccount } from './domain/account.ts';
import type { Registry } from './ports.ts';

interface OpeningCall {
  readonly operator: boolean;
  readonly stamp: RegistryStamp | null;
}

export interface AccountOpening {
  /** Null = it does not exist and does not open, or it exists and needs no opening. */
  ofPayer(account: string, call: OpeningCall): Promise<bigint | null>;
  /** Micro-credits: the budget of whoever is known and was given none, as it is set now. */
  defaultBudget(stamp: RegistryStamp | null): Promise<bigint>;
  /** Somebody who is paid always has an account; the default budget is for those who are known. */
  ofPayee(account: string, call: OpeningCall): Promise<bigint>;
}

const REMEMBERED = 100_000;

export function createAccountOpening(client: SqlClient, registry: Registry): AccountOpening {
  /** Accounts are never deleted. */
  const existing = new Set<string>();

  async function exists(account: string): Promise<boolean> {
    if (existing.has(account)) return true;
    const rows = await client.$queryRawUnsafe<unknown[]>(
      'SELECT 1 AS found FROM escrow.accounts WHERE account_id = $1',
      account,
    );
    if (rows.length === 0) return false;
    if (existing.size >= REMEMBERED) existing.clear();
    existing.add(account);
    return true;
  }

  async function isKnown(account: string, stamp: RegistryStamp | null): Promise<boolean> {
    const identity = identityOfAccount(account);
    const { kind } = await registry.standing(stamp, identity ?? account);
    return identity === null ? kind !== null : kind === 'identity';
  }

  async function defaultBudget(stamp: RegistryStamp | null): Promise<bigint> {
    return microsOf(await registry.setting(stamp, 'escrow.defaultBudget'));
  }

  return {
    defaultBudget,
    async ofPayer(account, { operator, stamp }) {
      if (workspaceOfAccount(account) !== null || isSink(account) || (await exists(account))) return null;
      if (operator) return defaultBudget(stamp);
      return (await isKnownOrSilent(isKnown(account, stamp))) ? defaultBudget(stamp) : null;
    },
    async ofPayee(account, { stamp }) {
      if (isSink(account) || (await exists(account))) return 0n;
      return (await isKnown(account, stamp)) ? defaultBudget(stamp) : 0n;
    },
  };
}

/** No answer is no yes; a payee, whose limit would stay wrong for ever, waits for one instead. */
async function isKnownOrSilent(answer: Promise<boolean>): Promise<boolean> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE') return false;
    throw error;
  }
}
