/** What habitat, the registry of identities, does for other services. No answer is never a yes. */
import { z } from 'zod';
import { AuditPost } from './audit.ts';
import { IdentityId, ResourceKey, SubjectId, WorkspaceName } from './names.ts';
import { type Answer, defineOperations } from './operation.ts';
import { HABITAT_SUDO } from './operations.habitat-sudo.ts';
import { HABITAT_TRUST } from './operations.habitat-trust.ts';
import { Policy } from './policy.ts';
import { PlanName, RegistryStamp, ROLES, VerifiedToken } from './registry.ts';
import { MAX_KEY_LENGTH, SettingSource } from './settings.ts';
import { Subject } from './subject.ts';

/** `at`: the registry database's clock; tokens are judged by it. `current`: the workspace each asked session has set. */
const RevisionAnswer = z.strictObject({
  stamp: RegistryStamp,
  at: z.number(),
  current: z.record(z.string(), WorkspaceName),
});

/** Every answer that others may keep says under which stamp it was read. */
const stamped = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject({ stamp: RegistryStamp, ...shape });

const SettingValues = z.record(z.string(), z.json());

/** So many sessions fit into one question. */
export const MAX_SESSIONS_ASKED = 1000;

export const HABITAT = defineOperations('habitat', {
  ...HABITAT_TRUST,
  ...HABITAT_SUDO,
  /** Now, not from any memory: the answer was read after the request came in. */
  revision: {
    effect: 'read',
    question: z.strictObject({ sessions: z.array(z.string()).max(MAX_SESSIONS_ASKED) }),
    answer: RevisionAnswer,
  },
  /**
   * null = unknown, revoked, of another kind, or its agent has no role any more: revoked and never to be again. One that
   * is past its `expiresAt` is answered too; who asks judges that by `at` of the revision, at each use.
   */
  subject: {
    effect: 'read',
    askers: ['gateway'],
    question: z.strictObject({ token: z.string().max(200) }),
    answer: stamped({ token: VerifiedToken.nullable() }),
  },
  /** Whether a token, by its id, has not been revoked. */
  tokenStands: {
    effect: 'read',
    askers: ['gateway'],
    question: z.strictObject({ tokenId: z.string().max(64) }),
    answer: stamped({ stands: z.boolean() }),
  },
  /** The identity as it acts in `workspace` (else its home); `roles` = its roles everywhere. null = no role anywhere. */
  context: {
    effect: 'read',
    newer: ['plan'],
    question: z.strictObject({
      agentId: z.string().max(128),
      workspace: WorkspaceName.optional(),
      plan: z.literal(true).optional(),
    }),
    answer: stamped({
      subject: Subject.nullable(),
      quarantined: z.boolean(),
      roles: z.record(WorkspaceName, z.array(z.string())),
      /** As a token has them; there when the plan was asked for. */
      org: VerifiedToken.shape.org.optional(),
      plan: VerifiedToken.shape.plan.optional(),
    }),
  },
  /** Ids of the accounts that an identity may read, as its tokens have them. */
  accounts: {
    effect: 'read',
    askers: ['agora'],
    question: z.strictObject({ agentId: z.string().max(128) }),
    answer: stamped({ accounts: z.array(z.string()) }),
  },
  /** Live agents at home where the viewer has a role, in the order of their ids; all of them when it is null. */
  agents: {
    effect: 'read',
    askers: ['brain'],
    question: z.strictObject({
      viewer: z.strictObject({ agentId: z.string().max(128).nullable(), bound: WorkspaceName.nullable() }).nullable(),
      limit: z.int().min(1).max(1000),
    }),
    answer: z.strictObject({
      agents: z.array(
        z.strictObject({ id: z.string(), name: z.string(), role: z.string().nullable(), team: z.string().nullable() }),
      ),
    }),
  },
  /** `known`: the workspace exists. With `confirmed` also whether an operator made it, or made somebody admin there. */
  roles: {
    effect: 'read',
    newer: ['confirmed'],
    question: z.strictObject({
      userId: z.string().max(128),
      workspaceId: z.string().max(128),
      confirmed: z.literal(true).optional(),
    }),
    answer: stamped({
      known: z.boolean(),
      roles: z.array(z.string()),
      /** There when it was asked for. */
      confirmed: z.boolean().optional(),
    }),
  },
  /** Policies attached to these resources; those without one are missing. */
  policies: {
    effect: 'read',
    askers: ['gateway', 'brain', 'agora'],
    question: z.strictObject({ resources: z.array(z.string()).max(1000) }),
    answer: stamped({ policies: z.record(z.string(), Policy) }),
  },
  /** Policies attached to the resource `root` itself, to `root` + `/...`, and those whose key starts with one of `prefixes`. */
  attached: {
    effect: 'read',
    askers: ['brain'],
    question: z.strictObject({ root: z.string().max(640), prefixes: z.array(z.string().max(640)).max(8) }),
    answer: stamped({ policies: z.record(z.string(), Policy) }),
  },
  /**
   * Gives a resource without a policy the boundary of the workspace. `policy`: what it has then; null = no such workspace.
   * `declared`: only when the workspace has declared one, so that what nobody wanted to close stays open.
   */
  claim: {
    effect: 'write-idempotent',
    askers: ['brain'],
    question: z.strictObject({
      resource: ResourceKey,
      workspaceId: WorkspaceName,
      by: SubjectId,
      declared: z.literal(true).optional(),
    }),
    answer: stamped({ claimed: z.boolean(), policy: Policy.nullable() }),
  },
  /**
   * Gives what lies at and below `to` the policies of what lies at and below `from`, which keeps its own. `copied` null =
   * something there has another policy already, and nothing was changed.
   */
  copyPolicies: {
    effect: 'write-idempotent',
    askers: ['brain'],
    question: z.strictObject({ from: ResourceKey, to: ResourceKey, by: SubjectId }),
    answer: stamped({
      copied: z.int().nullable(),
      /** Those that have a copy now; a registry of the version before does not tell. */
      resources: z.array(ResourceKey).optional(),
    }),
  },
  /** Takes away what `copyPolicies` has just made, for something that came to nothing; what was changed since stays. */
  removeCopies: {
    effect: 'write-idempotent',
    askers: ['brain'],
    question: z.strictObject({ resources: z.array(ResourceKey), by: SubjectId }),
    answer: stamped({ removed: z.int() }),
  },
  /**
   * A place for an identity: in `workspace`, else in that of the team, else in the default one. A missing workspace is
   * made, with `owner`, else the identity itself, as its admin. `created`: it got a role it had not. null = it is full.
   */
  provision: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({
      agentId: IdentityId,
      workspace: WorkspaceName.optional(),
      team: z
        .string()
        .regex(/^[A-Za-z0-9._-]{1,60}$/)
        .optional(),
      role: z.enum(ROLES).optional(),
      owner: IdentityId.optional(),
      by: SubjectId,
    }),
    answer: stamped({
      provisioned: z
        .strictObject({ workspace: z.string(), roles: z.array(z.string()), created: z.boolean() })
        .nullable(),
    }),
  },
  /**
   * Agents that work as one, in a workspace that is made for them: all of them or none. The same again is the one there is.
   * Asked on behalf of whoever wants them; `owner` = its identity, null = an operator without one: the first agent owns it.
   */
  assemble: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({
      workspace: WorkspaceName,
      owner: IdentityId.nullable(),
      agents: z
        .array(
          z.strictObject({
            agentId: z.string().regex(/^agt_[0-9a-f]{32}$/),
            name: z.string().min(1).max(100),
            role: z.string().min(1).max(60),
          }),
        )
        .min(1)
        .max(10),
    }),
    answer: z.strictObject({ assembled: z.literal(true) }),
    refuses: ['AGENT_NOT_FOUND', 'E_QUOTA', 'E_RATE_LIMIT', 'E_STATE_WRITE', 'HABITAT_WORKSPACE_EXISTS'],
  },
  /** As if it had never been. Its workspace stays where somebody else lives by now. */
  disband: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({ workspace: WorkspaceName, agentIds: z.array(z.string().max(128)).max(10) }),
    answer: z.strictObject({ disbanded: z.literal(true) }),
  },
  /** Of each agent that was asked for, in that order. Who is above it counts for its quarantine. */
  agentStates: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({ agentIds: z.array(z.string().max(128)).max(100) }),
    answer: z.strictObject({
      states: z.array(
        z.strictObject({ agentId: z.string(), alive: z.boolean(), quarantined: z.boolean(), score: z.number() }),
      ),
    }),
  },
  /**
   * Whether an identity belongs to `owner`: `org:`, `dept:`, `team:`, `workspace:` or `agent:` and an id, or a name that is
   * unique on the node, among confirmed organisations. Unknown or ambiguous = false.
   */
  member: {
    effect: 'read',
    askers: ['agora', 'market', 'universe'],
    question: z.strictObject({ owner: z.string().max(200), agentId: z.string().max(128) }),
    answer: stamped({
      member: z.boolean(),
      /** The owner by its id; null = not a member. */
      owner: z.string().nullable(),
    }),
  },
  /** Plan of the organisation the identity is assigned to; null = to none that an operator has confirmed. */
  plan: {
    effect: 'read',
    askers: ['agora', 'market', 'universe'],
    question: z.strictObject({ agentId: z.string().max(128) }),
    answer: stamped({ plan: PlanName.nullable() }),
  },
  /**
   * What an id that money may belong to stands for: an identity with a role somewhere, an organisation, or nothing known.
   * `maySpend`: `by` is that identity, the owner of the organisation, or assigned there in a role with permission `spend`;
   * `mayRead`: the same, or any member of the organisation. Without `by` both are false.
   */
  account: {
    effect: 'read',
    askers: ['escrow'],
    question: z.strictObject({ account: z.string().max(200), by: z.string().max(128).optional() }),
    answer: stamped({ kind: z.enum(['identity', 'org']).nullable(), maySpend: z.boolean(), mayRead: z.boolean() }),
  },
  /** All values that are set: `stored` by somebody, `fixed` by the environment of the registry. */
  settings: {
    effect: 'read',
    question: z.strictObject({}),
    answer: stamped({ stored: SettingValues, fixed: SettingValues }),
  },
  /**
   * Sets a declared setting, or with null unsets it. Stored in any case; `changed` = another value is in effect than
   * before; `shadowedBy` = the environment fixes another one. Throws FORBIDDEN, VAF_INPUT_INVALID,
   * IDEMPOTENCY_KEY_REUSED.
   */
  changeSetting: {
    effect: 'write-idempotent',
    askers: ['brain', 'market'],
    question: z.strictObject({
      key: z.string().max(MAX_KEY_LENGTH),
      value: z.json(),
      by: SubjectId,
      /** Of the caller, as the door established it. */
      operator: z.boolean(),
      /** Of a keyed call: a repeat of it is answered as it was the first time. */
      idempotency: z
        .strictObject({ principal: z.string(), tool: z.string(), key: z.string(), argsHash: z.string() })
        .nullable(),
    }),
    answer: stamped({
      changed: z.boolean(),
      value: z.json(),
      source: SettingSource,
      shadowedBy: z.literal('environment').nullable(),
      replayed: z.boolean(),
    }),
  },
  /** Answered when every entry is in its chain for good; entries sent again under their ids are there once. */
  audit: { effect: 'write-idempotent', question: AuditPost, answer: z.strictObject({}) },
  /** A brain took over what an older one knew, at `at` (ms since the epoch). May be told again. */
  succession: {
    effect: 'write-idempotent',
    askers: ['brain'],
    question: z.strictObject({ previousBrain: z.string().min(1).max(255), at: z.number() }),
    answer: z.strictObject({}),
  },
  /** What has become of a delegated task in the inbox of its agent; the report with the highest number counts. */
  reportTask: {
    effect: 'write-idempotent',
    askers: ['universe'],
    question: z.strictObject({
      taskId: z.string().max(128),
      number: z.int().min(1),
      status: z.enum(['queued', 'completed', 'failed']),
      reason: z.string().max(200).nullable(),
    }),
    answer: z.strictObject({}),
  },
});

export type HabitatAnswer<Name extends keyof typeof HABITAT.declared> = Answer<typeof HABITAT, Name>;
