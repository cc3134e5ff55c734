/** What the ledger does for other services over the bus. Amounts are credits as JSON numbers, at most 6 decimals. */
import { z } from 'zod';
import { LimitCredits, PositiveCredits } from './amount.ts';
import { IdentityId, SubjectId, WorkspaceName } from './names.ts';

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
/** The same request had been answered before: nothing happened again. */
const replay = z.literal(true).optional();

const MAX_SERVICE_TTL_MS = 2_592_000_000;

/**
 * Operations: question and answer. A hold is named by `holdId`, which is used once for ever and begins with one of
 * the prefixes reserved for services; the other operations are named by `ref`. The same body again changes nothing.
 */
export const ESCROW = {
  /** Reserves; an amount of null, or of a payer of null, makes a mere record. */
  hold: {
    ask: z.strictObject({
      holdId: HoldId,
      payer: Payer.nullable(),
      amount: PositiveCredits.nullable(),
      ttlMs: z.int().min(1).max(MAX_SERVICE_TTL_MS),
      condition: z.record(z.string(), z.json()).nullable(),
    }),
    answer: z.strictObject({
      held: z.literal(true),
      holdId: z.string(),
      expiresAt: z.number(),
      reserved: z.number(),
      replay,
    }),
  },
  /** Spends what is held, or less, and gives back the rest. Without a payee it goes into a sink. */
  capture: {
    ask: z.strictObject({ holdId: HoldId, amount: LimitCredits.optional(), payee: Payee.optional() }),
    answer: z.strictObject({ captured: z.literal(true), entryId: z.string().nullable(), amount: z.number(), replay }),
  },
  /** Gives back what is held. An id that was never used is used up by it: a hold that arrives late is refused. */
  void: {
    ask: z.strictObject({ holdId: HoldId, reason: z.string().max(200) }),
    answer: z.strictObject({ voided: z.literal(true), expired: z.literal(true).optional(), replay }),
  },
  state: {
    ask: z.strictObject({ holdId: HoldId }),
    answer: z.union([
      z.strictObject({ state: z.literal('absent') }),
      z.strictObject({
        state: z.enum(['held', 'posted', 'released', 'expired']),
        amount: z.number(),
        expiresAt: z.number(),
        entryId: z.string().optional(),
      }),
    ]),
  },
  /** Spends at once. */
  debit: {
    ask: z.strictObject({ payer: Payer, amount: PositiveCredits, payee: Payee.optional(), ref: Reference }),
    answer: z.looseObject({ recorded: z.literal(true), entryId: z.string(), available: z.number(), replay }),
  },
  /** Gives back a payment, as a whole or in part: never more than was paid, and only what the payee still has. */
  refund: {
    ask: z.strictObject({ entryId: z.string().max(100), amount: PositiveCredits.optional(), ref: Reference }),
    answer: z.strictObject({ refunded: z.literal(true), entryId: z.string(), replay }),
  },
  open: {
    ask: z.strictObject({ account: OwnAccount, limit: LimitCredits, ref: Reference }),
    answer: z.strictObject({ opened: z.literal(true), created: z.boolean(), replay }),
  },
  balance: {
    ask: z.strictObject({ account: AccountId }),
    answer: z.strictObject({ budget: Budget.nullable() }),
  },
} as const;

export type EscrowOperation = keyof typeof ESCROW;
export type EscrowAsk<Operation extends EscrowOperation> = z.input<(typeof ESCROW)[Operation]['ask']>;
export type EscrowAnswer<Operation extends EscrowOperation> = z.output<(typeof ESCROW)[Operation]['answer']>;

/** On whose behalf a service asks. An operator's call opens accounts that nobody created. */
export const EscrowRequest = z.strictObject({
  body: z.unknown(),
  /** Milliseconds since the epoch; not begun after it. */
  deadlineAt: z.number(),
  /** Who caused it, for the audit. */
  by: SubjectId.nullable(),
  operator: z.boolean(),
});
export type EscrowRequest = z.output<typeof EscrowRequest>;

/** `code` is a call error or a refusal; `details` go with a refusal. */
export type EscrowReply =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly details: Record<string, unknown> };

/** The name of the asking service is part of the subject, so that the bus can keep one from speaking for another. */
export function escrowSubject(service: string, operation: EscrowOperation): string {
  return `escrow.for.${service}.${operation}`;
}

export const ESCROW_SUBJECTS = 'escrow.for.*.*';
