/** governance_*: decisions that are recorded with what spoke against them, and what follows from them. */
import { z } from 'zod';
import { IdentityId } from '@svc/contract/names.ts';
import { page, TimestampMs } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { isAllowed } from '../domain/governance.ts';
import { countDecisions, listDecisions, readStandingDecision } from '../store/governance-rows.ts';
import { readVerdict } from '../store/trust-rows.ts';
import { currentWorkspace } from './current.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const MAX_CONTEXT_BYTES = 8 * 1024;

const POSITION = /^\d{1,14}\/gov_[0-9a-f]{32}$/;

const Topic = z.string().regex(/^[^\p{C}]{1,200}$/u, 'must be 1-200 characters without control characters');
const Context = z
  .looseObject({
    requiresConsent: z.boolean().optional().describe('Those concerned must agree.'),
    consentGiven: z.boolean().optional().describe('They have agreed.'),
    harmPotential: z.number().min(0).max(1).optional().describe('0 to 1; from 0.5 it is too much.'),
    benefitScore: z.number().optional().describe('Must be more than 0.'),
    entity: IdentityId.optional().describe('The only one it concerns; default: everybody.'),
  })
  .refine((context) => Buffer.byteLength(JSON.stringify(context)) <= MAX_CONTEXT_BYTES, {
    message: 'must be at most 8 KiB as JSON',
  });

const check = z.strictObject({ assessed: z.boolean(), passed: z.boolean() });
const decided = {
  id: z.string(),
  topic: z.string(),
  action: z.string(),
  allowed: z.boolean(),
  reason: z.string().nullable(),
  reasons: z.array(z.string()),
  checks: z.strictObject({ transparency: check, consent: check, nonHarm: check, benefit: check }),
  standing: z.boolean().describe('It binds, because an operator or an admin of the workspace made it.'),
  at: TimestampMs,
};

const governanceDecide = defineTool({
  name: 'governance_decide',
  area: 'governance',
  description: 'Records a decision on a topic after checks of consent, harm and benefit as the context declares them.',
  input: z.strictObject({
    topic: Topic.describe('What is decided on, such as an action.'),
    context: Context.optional(),
  }),
  output: z.strictObject(decided),
  access: 'identified',
  effect: 'write',
  refuses: [],
  example: { topic: 'deploy', context: { harmPotential: 0.2, benefitScore: 1 } },
  async handler({ topic, context: declared = {} }, context) {
    const { deps, caller } = context;
    const wish = { topic, context: declared, workspace: await currentWorkspace(deps, caller) };
    const outcome = await deps.store.decideTopic(context, wish);
    const { context: _context, by: _by, workspace: _workspace, ...shown } = settled(context, outcome);
    return { ...shown, reasons: [...shown.reasons], action: topic };
  },
});

const governanceIsAllowed = defineTool({
  name: 'governance_isAllowed',
  area: 'governance',
  description: 'Whether an entity may do something, by quarantine, trust and the latest standing decision.',
  input: z.strictObject({ action: Topic, entity: IdentityId.optional().describe('Default: the caller.') }),
  output: z.strictObject({ allowed: z.boolean(), action: z.string(), entity: z.string(), because: z.string() }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { action: 'deploy' },
  async handler({ action, entity = '' }, { deps, caller }) {
    const { client } = deps.store;
    const who = entity === '' ? actorOf(caller).name : entity;
    const workspace = await currentWorkspace(deps, caller);
    const [trust, standing] = await Promise.all([
      readVerdict(client, actorOf(caller), who, action),
      readStandingDecision(client, workspace, action, who),
    ]);
    return { action, entity: who, ...isAllowed(trust, standing) };
  },
});

const governanceHistory = defineTool({
  name: 'governance_history',
  area: 'governance',
  description: 'Decisions of the current workspace, newest first; an operator sees all.',
  input: z.strictObject(page),
  output: z.strictObject({
    decisions: z.array(
      z.strictObject({ ...decided, context: z.record(z.string(), z.unknown()), by: z.string(), workspace: z.string() }),
    ),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler({ limit, cursor }, { deps, caller }) {
    const slice = positionOf(limit, cursor);
    if (slice.after !== null && !POSITION.test(slice.after))
      throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
    const rows = await listDecisions(deps.store.client, await viewOf(deps, caller), slice);
    const { items, next } = nextPage(rows, slice, ({ at, id }) => `${at}/${id}`);
    return { decisions: items.map((row) => ({ ...row, reasons: [...row.reasons], action: row.topic })), ...next };
  },
});

const governanceStats = defineTool({
  name: 'governance_stats',
  area: 'governance',
  description: 'How many decisions of the current workspace allowed and denied, and why; an operator counts all.',
  input: z.strictObject({}),
  output: z.strictObject({
    total: z.int(),
    allowed: z.int(),
    denied: z.int(),
    allowRate: z.number().min(0).max(1).describe('0 when there are none.'),
    reasons: z.record(z.string(), z.int()).describe('By the first reason against each.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_input, { deps, caller }) {
    const { total, allowed, reasons } = await countDecisions(deps.store.client, await viewOf(deps, caller));
    return { total, allowed, denied: total - allowed, allowRate: total === 0 ? 0 : allowed / total, reasons };
  },
});

/** Whose decisions the caller sees: those of one workspace; null = all. */
async function viewOf(deps: HabitatDeps, caller: Caller): Promise<string | null> {
  return caller.operator ? null : currentWorkspace(deps, caller);
}

export const governanceTools = [governanceDecide, governanceIsAllowed, governanceHistory, governanceStats];
