/** teams_*: organisations and their parts are made, and everybody gets a place. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { DisplayName, IdentityId } from '@svc/contract/names.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import { PlanName } from '@svc/contract/registry.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { Reference } from './references.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { Dept, Org, Permission, Team, TeamRole } from './team-shapes.ts';

const desc = z
  .string()
  .max(1000)
  .regex(/^(?:[^\p{Cc}\p{Cs}]|[\n\r\t])*$/u, 'must be text without control characters')
  .default('')
  .describe('What it is for, at most 1000 characters.');
const org = Reference.optional().describe('Organisation, by id or name; default: the only one the caller sees.');
const MAKING_REFUSES = ['E_DUPLICATE', 'E_NOT_FOUND', 'E_PARENT_REQUIRED', 'E_AMBIGUOUS', 'E_QUOTA'] as const;

const createOrg = defineTool({
  name: 'teams_createOrg',
  area: 'teams',
  description: 'Makes an organisation, which the caller owns; a plan beyond free is for operators to give.',
  input: z.strictObject({ name: DisplayName, plan: PlanName.default('free'), desc }),
  output: Org,
  access: 'identified',
  effect: 'write',
  refuses: ['E_DUPLICATE', 'E_QUOTA'],
  example: { name: 'Acme' },
  async handler(wish, context) {
    const { deps, caller } = context;
    if (wish.plan !== 'free' && !caller.operator) throw new CallError('FORBIDDEN', 'Only an operator gives a plan.');
    return settled(context, await deps.store.makeOrg(context, wish));
  },
});

const confirm = defineTool({
  name: 'teams_confirmOrg',
  area: 'teams',
  description:
    'Confirms an organisation, so that its permissions and its plan count outside of it too, or takes that back.',
  input: z.strictObject({
    org: Reference.describe('Organisation, by id or name.'),
    confirmed: z.boolean().default(true).describe('false takes it back, and the plan with it.'),
    plan: PlanName.optional().describe('Default: the one it has.'),
  }),
  output: Org,
  access: 'operator',
  effect: 'write-idempotent',
  refuses: ['E_NOT_FOUND'],
  example: { org: 'Acme', plan: 'pro' },
  async handler({ org: reference, ...wish }, context) {
    return settled(context, await context.deps.store.confirmOrg(context, reference, wish));
  },
});

const createDept = defineTool({
  name: 'teams_createDept',
  area: 'teams',
  description: 'Makes a department of an organisation.',
  input: z.strictObject({ name: DisplayName, org, desc }),
  output: Dept,
  access: 'identified',
  effect: 'write',
  refuses: ['E_DUPLICATE', 'E_NOT_FOUND', 'E_PARENT_REQUIRED', 'E_QUOTA'],
  example: { name: 'Research', org: 'Acme' },
  async handler(wish, context) {
    return settled(context, await context.deps.store.makeDept(context, wish));
  },
});

const createTeam = defineTool({
  name: 'teams_createTeam',
  area: 'teams',
  description: 'Makes a team of a department.',
  input: z.strictObject({
    name: DisplayName,
    dept: Reference.optional().describe('Department, by id or name; default: the only one the caller sees.'),
    desc,
  }),
  output: Team,
  access: 'identified',
  effect: 'write',
  refuses: MAKING_REFUSES,
  example: { name: 'Red', dept: 'Research' },
  async handler(wish, context) {
    return settled(context, await context.deps.store.makeTeam(context, wish));
  },
});

const createRole = defineTool({
  name: 'teams_createRole',
  area: 'teams',
  description: 'Makes a role of an organisation, or of one of its teams, with what it permits.',
  input: z.strictObject({
    name: DisplayName,
    org,
    team: Reference.optional().describe('Team, by id or name, when only its members are to have the role.'),
    permissions: z
      .array(Permission)
      .max(64)
      .default([])
      .describe('`*` permits everything, `doc:*` whatever begins with doc:'),
  }),
  output: TeamRole,
  access: 'identified',
  effect: 'write',
  refuses: MAKING_REFUSES,
  example: { name: 'Editor', org: 'Acme', permissions: ['doc:*'] },
  async handler(wish, context) {
    const role = settled(context, await context.deps.store.makeTeamRole(context, wish));
    return { ...role, permissions: [...role.permissions] };
  },
});

const teamsAssign = defineTool({
  name: 'teams_assign',
  area: 'teams',
  description:
    'Gives an agent or user its one place in an organisation, instead of the one it had: by an admin of the organisation who is also the agent itself, above it, an admin of its home, or an operator.',
  input: z.strictObject({
    agentId: IdentityId,
    org,
    dept: Reference.optional().describe('Department, by id or name.'),
    team: Reference.optional().describe('Team, by id or name.'),
    role: Reference.optional().describe('Team role, by id or name.'),
    reportsTo: IdentityId.optional().describe('Somebody of the same organisation.'),
  }),
  output: z.strictObject({
    agentId: z.string(),
    org: z.string(),
    dept: z.string().nullable(),
    team: z.string().nullable(),
    role: z.string().nullable(),
    reportsTo: z.string().nullable(),
    assignedAt: TimestampMs,
    assignedBy: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_NOT_FOUND', 'E_AMBIGUOUS', 'E_PARENT_REQUIRED', 'E_CYCLE', 'E_QUOTA'],
  example: { agentId: 'agt_1', team: 'Red', role: 'Editor' },
  async handler(wish, context) {
    return settled(context, await context.deps.store.assign(context, wish));
  },
});

const leaveOrg = defineTool({
  name: 'teams_leave',
  area: 'teams',
  description: 'Ends the place of an agent or user in its organisation; everybody may leave.',
  input: z.strictObject({ agentId: IdentityId.optional().describe('Default: the caller.') }),
  output: z.strictObject({ left: z.boolean(), agentId: z.string(), org: z.string().nullable() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [],
  async handler({ agentId }, context) {
    const { deps, caller } = context;
    const who = agentId ?? actorOf(caller).identity;
    if (who === null) throw invalidArguments([{ path: 'agentId', message: 'is needed: the caller has no identity' }]);
    const { org: from } = settled(context, await deps.store.leave(context, who));
    return { left: from !== null, agentId: who, org: from };
  },
});

export const teamTools = [createOrg, confirm, createDept, createTeam, createRole, teamsAssign, leaveOrg];
