/** Arguments and results that the ledger's tools share. */
import { z } from 'zod';
import { PositiveCredits } from '@svc/contract/amount.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { AccountId, HoldId, isServiceHoldId } from '@svc/contract/operations.escrow.ts';
import { HOLD_TTL } from '../domain/hold.ts';

/** Pools have tools of their own; sinks belong to nobody. */
export const OrgId = AccountId.refine((id) => !/^(ws|sink):/.test(id), {
  message: 'must not begin with ws: or sink:',
}).describe('Agent or organisation.');

export const CallerHoldId = HoldId.refine((id) => !isServiceHoldId(id), {
  message: 'begins like the hold of a service',
}).describe('Id of the hold, free to choose: each caller has ids of its own.');

const MAX_CONDITION_BYTES = 8192;

/** Fields beyond the named ones are kept as they are. */
export const HoldCondition = z
  .looseObject({
    amount: PositiveCredits.optional(),
    agent: OrgId.optional().describe('Whose budget pays; with workspace, who draws on its pool.'),
    org: OrgId.optional().describe('Organisation whose budget pays, instead of an agent.'),
    workspace: WorkspaceName.optional().describe('Workspace whose pool pays, for the agent.'),
    type: z.string().min(1).max(100).optional(),
    ttlMs: z.int().min(1).max(HOLD_TTL.maximumMs).optional().describe('How long it is held, in ms; default 5 minutes.'),
  })
  .refine((condition) => Buffer.byteLength(JSON.stringify(condition)) <= MAX_CONDITION_BYTES, {
    message: 'must be at most 8 KiB as JSON',
  })
  .refine((condition) => isStorable(JSON.stringify(condition)), {
    message: 'must be text without NUL or lone surrogates',
  })
  .refine(({ agent, org }) => agent === undefined || org === undefined, { message: 'names an agent and an org' })
  .describe('What is held: an amount with agent or org is reserved; any other one, and own fields, are noted only.');
export type HoldCondition = z.output<typeof HoldCondition>;

/** JSON text shows a NUL and lone surrogates as escapes, which the database does not take. */
function isStorable(json: string): boolean {
  return !/\\u(0000|d[89ab]..(?!\\ud[c-f])|d[c-f]..)/i.test(json.replaceAll('\\\\', ''));
}

const credits = z.number();

export const BudgetShown = z.strictObject({
  spent: credits,
  limit: credits,
  available: credits,
  pending: credits,
  earned: credits,
});

export const MemberShown = z.strictObject({
  spent: credits,
  limit: credits,
  available: credits,
  pending: credits,
});

export const Layer = z.literal('Escrow');
