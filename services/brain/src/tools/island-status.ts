/** The boundary of an island, and whether it lets the caller through. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import type { Policy } from '@svc/contract/policy.ts';
import { isAnonymous, type Subject, UserCtx } from '@svc/contract/subject.ts';
import { defineTool } from '../deps.ts';
import { judgeBoundary } from '../domain/island/boundary.ts';
import { IslandName } from '../domain/island/island.ts';
import { viewRules } from './island-boundary.ts';
import { findIsland } from './island-reading.ts';
import { present, PRESENT_REFUSES, READ_RAISES, resolveReads } from './target.ts';

const name = { name: IslandName };

const status = defineTool({
  name: 'svc_island_status',
  area: 'islands',
  description: 'Tells whether an island exists, is switched on, holds anything, and what its boundary is.',
  input: z.strictObject({ ...name, brain: BrainName.optional() }),
  output: z.strictObject({
    name: z.string(),
    exists: z.boolean(),
    enabled: z.boolean(),
    type: z.string().nullable(),
    populated: z.boolean(),
    gated: z.boolean(),
    readableBy: z.array(z.string()).nullable().describe('Rules; null when not gated, or for who is outside.'),
    writableBy: z.array(z.string()).nullable(),
    container: z.string().nullable(),
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  example: { name: 'ops' },
  async handler({ name: island, ...wish }, context) {
    const targets = await resolveReads(context, wish);
    const found = context.take(present(await findIsland(targets, island, false)))?.island ?? NONE;
    const gate = (await viewRules(context, targets[0]?.brain ?? context.deps.defaultBrain)).gate(island);
    return {
      name: island,
      exists: found !== NONE,
      enabled: found.enabled,
      type: found.type,
      populated: found.populated,
      gated: gate !== null,
      ...(gate !== null && mayKnow(context.caller, gate.container) ? rulesOf(gate) : NO_RULES),
    };
  },
});

const NONE = { enabled: false, type: null, populated: false };
const NO_RULES = { readableBy: null, writableBy: null, container: null };

function rulesOf({ readableBy, writableBy, container }: Policy) {
  return { readableBy: [...readableBy], writableBy: [...writableBy], container };
}

/** Rules name users and teams: they are for those who hold a role where the boundary lives, as in the registry's own lists. */
function mayKnow({ operator, subject }: { operator: boolean; subject: Subject }, container: string): boolean {
  const isMember = subject.workspace === container && (subject.roles ?? []).length > 0;
  return operator || container === 'public' || isMember;
}

const canAccess = defineTool({
  name: 'islands_canAccess',
  area: 'islands',
  description:
    'Tells whether the caller may read or write an island, and as whom it was judged; an island without a boundary is open.',
  input: z.strictObject({
    ...name,
    userCtx: UserCtx.optional(),
    mode: z.enum(['read', 'write']).default('read').describe('What is wanted.'),
  }),
  output: z.strictObject({
    name: z.string(),
    mode: z.enum(['read', 'write']),
    allowed: z.boolean(),
    gated: z.boolean(),
    verified: z.boolean().describe('Whether the registry vouches for the subject.'),
    resolved: z
      .strictObject({
        userId: z.string().optional(),
        agentId: z.string().optional(),
        workspace: z.string().optional(),
        roles: z.array(z.string()).optional(),
        team: z.string().optional(),
        anonymous: z.literal(true).optional(),
      })
      .describe('The subject.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { name: 'ops', mode: 'write' },
  async handler({ name: island, mode }, context) {
    const { subject } = context.caller;
    const gate = (await viewRules(context, context.deps.defaultBrain)).gate(island);
    const { allowed } = judgeBoundary(gate, subject, mode);
    return {
      name: island,
      mode,
      allowed,
      gated: gate !== null,
      verified: subject.verified === true,
      resolved: whom(subject),
    };
  },
});

function whom(subject: Subject) {
  if (isAnonymous(subject)) return { anonymous: true as const };
  const { userId, agentId, workspace, roles, team } = subject;
  return {
    ...(userId === undefined ? {} : { userId }),
    ...(agentId === undefined ? {} : { agentId }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(roles === undefined ? {} : { roles }),
    ...(team === undefined ? {} : { team }),
  };
}

export const islandStatusTools = [status, canAccess];
