/** What happened in the ledger, as events for those who may read the account and as entries for the audit. */
import type { AuditEntry } from '@svc/runtime/audit.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { credits, identityOfAccount, workspaceOfAccount } from '../domain/account.ts';
import type { Fact, LedgerEvent } from '../domain/book.ts';
import type { Told } from './group-commit.ts';

/** Limits change nothing but what may be spent, holds nothing but what is left: money moves with these. */
const AUDITED: ReadonlySet<LedgerEvent> = new Set<LedgerEvent>([
  'escrow:budgeted',
  'escrow:spent',
  'escrow:posted',
  'escrow:refunded',
  'escrow:repaired',
]);

const SHOWN = {
  'escrow:budgeted': ['entryId', 'member', 'amount'],
  'escrow:held': ['holdId', 'amount'],
  'escrow:posted': ['holdId', 'entryId', 'amount'],
  'escrow:released': ['holdId', 'amount'],
  'escrow:expired': ['holdId', 'amount'],
  'escrow:spent': ['entryId', 'amount'],
  'escrow:refunded': ['entryId', 'amount'],
  'escrow:repaired': ['entryId', 'amount'],
} as const satisfies Record<LedgerEvent, readonly (keyof Fact)[]>;

export function eventsOf(told: readonly Told[]): NewEvent[] {
  return told.map(({ fact }) => {
    const { event, account } = fact;
    const fields = SHOWN[event].flatMap((field) => {
      const value = shown(fact[field]);
      return value === undefined ? [] : [[field, value]];
    });
    const workspace = account === null ? null : workspaceOfAccount(account);
    const payload = { account, ...Object.fromEntries(fields), parties: partiesOf(fact) };
    return { name: event, payload, ...(workspace === null ? {} : { workspace }) };
  });
}

function shown(value: string | bigint | null | undefined): string | number | undefined {
  return typeof value === 'bigint' ? credits(value) : (value ?? undefined);
}

/**
 * Who may read the account: a pool stands for its workspace, an organisation for its owner and members, the line of a
 * scenario for its identity.
 */
export function partyOf(account: string): string {
  return identityOfAccount(account) ?? account;
}

/** A record that names nobody is its placer's. */
function partiesOf({ account, owner }: Fact): string[] {
  if (account !== null) return [partyOf(account)];
  return owner?.startsWith('tok:') === true ? [owner.slice('tok:'.length)] : [];
}

export function auditEntriesOf(told: readonly Told[]): AuditEntry[] {
  return told
    .filter(({ fact }) => AUDITED.has(fact.event))
    .map(({ fact: { event, account, amount, ...rest }, subject }) => ({
      event,
      workspace: account === null ? null : workspaceOfAccount(account),
      subject,
      data: { account, ...rest, ...(amount === undefined ? {} : { amount: credits(amount) }) },
    }));
}
