/** What the ledger does for other services. Amounts are credits as JSON numbers, at most 6 decimals. */
import { z } from 'zod';
import { LimitCredits, PositiveCredits } from './amount.ts';
import { IdentityId, WorkspaceName } from './names.ts';
import { defineOperations } from './operation.ts';

/** An agent or an organisation, or a line of spending of the form `scenario:…`, `crew:…` or `sink:…`. */
export const AccountId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/,
    'must be 1-128 letters, digits or ._:@- and start with a letter or digit',
  );
export const HoldId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/,
    'must be 1-200 letters, digits or ._:@/- and start with a letter or digit',
  );

/** Holds of services: their ids are unique for ever, and no tool may place one. */
const SERVICE_HOLD_PREFIXES = ['trade:', 'forum:', 'crew:', 'scenario:', 'universe:', 'market:', 'agora:'];

export function isServiceHoldId(holdId: string): boolean {
  return SERVICE_HOLD_PREFIXES.some((prefix) => holdId.startsWith(prefix));
}

const ServiceHoldId = HoldId.refine(isServiceHoldId, { message: 'is no id of a service' });
const Reference = z.string().min(1).max(200);

const OwnAccount = AccountId.refine((id) => !/^(ws|sink):/.test(id), { message: 'is no account of its own' });
/** Who pays: a budget, or a member out of the pool of a workspace. */
export const Payer = z.union([
  z.strictObject({ agent: OwnAccount }),
  z.strictObject({ org: OwnAccount }),
  z.strictObject({ workspace: WorkspaceName, agent: IdentityId }),
]);
export type Payer = z.output<typeof Payer>;

const Payee = AccountId.refine((id) => !id.startsWith('ws:'), { message: 'a pool is paid by nobody' });
const Budget = z.strictObject({
  spent: z.number(),
  limit: z.number(),
  available: z.number(),
  pending: z.number(),
  earned: z.number(),
});
const ServiceHold = z.strictObject({
  state: z.enum(['held', 'posted', 'released', 'expired']),
  amount: z.number(),
  expiresAt: z.number(),
  entryId: z.string().optional(),
});
/** The same had been asked before: nothing happened again. */
const replay = z.literal(true).optional();

const DAY_MS = 86_400_000;
const GRACE_MS = 3_600_000;
/** The longest vote there may be, which is longer than both times of the longest trade, and the hour after it. */
const MAX_SERVICE_TTL_MS = 90 * DAY_MS + GRACE_MS;
const MAX_HOLDS_AT_ONCE = 500;
const askers = ['market', 'agora', 'universe'] as const;

/**
 * A hold is named by `holdId`, which is used once for ever; it belongs to the service that placed it. The other changes are
 * named by `ref`. The same question again has the first answer and changes nothing; another one is E_HOLD_EXISTS or
 * E_REF_REUSED. Asked on behalf of an operator, accounts open that nobody created.
 */
export const ESCROW = defineOperations('escrow', {
  /**
   * Reserves; an amount of null or 0, or a payer of null, makes a mere record. What arrives after `deadlineAt` (ms since the
   * epoch, by the clock of the ledger's database) is E_HOLD_EXPIRED; a repetition may name another one.
   */
  hold: {
    effect: 'write-idempotent',
    askers,
    gathered: true,
    newer: ['payee'],
    question: z.strictObject({
      holdId: ServiceHoldId,
      payer: Payer.nullable(),
      amount: LimitCredits.nullable(),
      ttlMs: z.int().min(1).max(MAX_SERVICE_TTL_MS),
      condition: z.record(z.string(), z.json()).nullable(),
      deadlineAt: z.int().positive().optional(),
      /** Who is to have it when it is captured; absent = a sink. It is no part of what makes a repetition. */
      payee: Payee.optional(),
    }),
    answer: z.strictObject({
      held: z.literal(true),
      holdId: z.string(),
      expiresAt: z.number(),
      reserved: z.number(),
      replay,
    }),
    refuses: [
      'E_HOLD_EXISTS',
      'E_HOLD_CLOSED',
      'E_HOLD_EXPIRED',
      'E_BUDGET',
      'E_UNKNOWN_WORKSPACE',
      'E_MEMBER_LIMIT',
      'E_POOL_EXCEEDED',
      'E_LEDGER_FROZEN',
    ],
  },
  /** Spends what is held, or less, and gives back the rest. Without a payee it goes into a sink. */
  capture: {
    effect: 'write-idempotent',
    askers,
    gathered: true,
    question: z.strictObject({ holdId: ServiceHoldId, amount: LimitCredits.optional(), payee: Payee.optional() }),
    answer: z.strictObject({ captured: z.literal(true), entryId: z.string().nullable(), amount: z.number(), replay }),
    refuses: ['E_HOLD_ABSENT', 'E_HOLD_EXPIRED', 'E_HOLD_CLOSED', 'E_AMOUNT', 'E_LEDGER_FROZEN'],
  },
  /** Gives back what is held. An id that was never used is used up by it: a hold that arrives late is refused. */
  void: {
    effect: 'write-idempotent',
    askers,
    gathered: true,
    question: z.strictObject({ holdId: ServiceHoldId, reason: z.string().max(200) }),
    answer: z.strictObject({ voided: z.literal(true), expired: z.literal(true).optional(), replay }),
    refuses: ['E_HOLD_CLOSED', 'E_LEDGER_FROZEN'],
  },
  /** Of a hold of the asker. */
  state: {
    effect: 'read',
    askers,
    question: z.strictObject({ holdId: ServiceHoldId }),
    answer: z.union([z.strictObject({ state: z.literal('absent') }), ServiceHold]),
  },
  /** Of several holds of the asker, by id; those that it has not are left out. */
  states: {
    effect: 'read',
    askers,
    question: z.strictObject({ holdIds: z.array(ServiceHoldId).max(MAX_HOLDS_AT_ONCE) }),
    answer: z.strictObject({ holds: z.record(z.string(), ServiceHold) }),
  },
  /** The asker's live holds with ids after the one that is named, in the order of their characters' codes. */
  live: {
    effect: 'read',
    askers,
    question: z.strictObject({
      after: HoldId.optional(),
      limit: z.int().min(1).max(MAX_HOLDS_AT_ONCE),
    }),
    answer: z.strictObject({
      holds: z.array(z.strictObject({ holdId: z.string(), amount: z.number(), heldAt: z.number() })),
      more: z.boolean(),
    }),
  },
  /** Spends at once. */
  debit: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({ payer: Payer, amount: PositiveCredits, payee: Payee.optional(), ref: Reference }),
    answer: z.strictObject({ recorded: z.literal(true), entryId: z.string(), available: z.number(), replay }),
    refuses: [
      'E_BUDGET',
      'E_UNKNOWN_WORKSPACE',
      'E_MEMBER_LIMIT',
      'E_POOL_EXCEEDED',
      'E_LEDGER_FROZEN',
      'E_REF_REUSED',
    ],
  },
  /** Gives back a payment, as a whole or in part: never more than was paid, and only what the payee still has. */
  refund: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({ entryId: z.string().max(100), amount: PositiveCredits.optional(), ref: Reference }),
    answer: z.strictObject({ refunded: z.literal(true), entryId: z.string(), replay }),
    refuses: ['E_ENTRY_ABSENT', 'E_REFUNDED', 'E_BUDGET', 'E_LEDGER_FROZEN', 'E_REF_REUSED'],
  },
  /** An account with this limit; one that is there with the same is left as it is. */
  open: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({ account: OwnAccount, limit: LimitCredits, ref: Reference }),
    answer: z.strictObject({ opened: z.literal(true), created: z.boolean(), replay }),
    refuses: ['E_ACCOUNT_EXISTS', 'E_LEDGER_FROZEN', 'E_REF_REUSED'],
  },
  /** null = nobody of that name has a budget. */
  balance: {
    effect: 'read',
    askers,
    question: z.strictObject({ account: AccountId }),
    answer: z.strictObject({ budget: Budget.nullable() }),
  },
});
