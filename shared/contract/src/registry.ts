/** What the registry of identities (habitat) answers to other services over the bus. No answer is never a yes. */
import { z } from 'zod';
import { AuditPost } from './audit.ts';
import { IdentityId, ResourceKey, SubjectId, WorkspaceName } from './names.ts';
import { Policy } from './policy.ts';
import { MAX_KEY_LENGTH, SettingSource } from './settings.ts';
import { Subject } from './subject.ts';

export const ROLES = ['viewer', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** `wanted` or a stronger role. */
export function holdsAtLeast(roles: readonly string[], wanted: Role): boolean {
  return ROLES.slice(ROLES.indexOf(wanted)).some((role) => roles.includes(role));
}

export const PlanName = z.enum(['free', 'pro', 'enterprise']);
export type PlanName = z.output<typeof PlanName>;

/** Under which revision something was read. `rev` rises with every change of the registry, `policies` is the last one that
 * touched a policy or a workspace, `settings` the last one that touched a setting. Two stamps with equal `rev` saw the
 * same rows. */
export const RegistryStamp = z.strictObject({ rev: z.int(), policies: z.int(), settings: z.int() });
export type RegistryStamp = z.output<typeof RegistryStamp>;

/** Limits of a token beyond its subject. `bound`: the only workspace in which it acts, or null. Times in ms since the epoch. */
export const TokenLimits = z.strictObject({
  tokenId: z.string(),
  bound: WorkspaceName.nullable(),
  readOnly: z.boolean(),
  profile: z.string().nullable(),
  expiresAt: z.number(),
});
export type TokenLimits = z.output<typeof TokenLimits>;

/** A token as it stands now. `subject` is that of its home; `roles` = the agent's roles in each workspace it may act in. */
export const VerifiedToken = z.strictObject({
  limits: TokenLimits,
  subject: Subject,
  /** The agent, or one it descends from, is in quarantine: it may only read. */
  quarantined: z.boolean(),
  roles: z.record(WorkspaceName, z.array(z.string())),
  /** Ids of the accounts it may read: the agent's own, unless an organisation has that id, and those of the
   * organisations that it owns or is assigned to. */
  accounts: z.array(z.string()),
  /** Organisation and plan of the agent's assignment, once an operator has confirmed that organisation. */
  org: z.string().nullable(),
  plan: PlanName.nullable(),
});
export type VerifiedToken = z.output<typeof VerifiedToken>;

/** `at`: the registry database's clock; tokens are judged by it. `current`: the workspace each asked session has set. */
export const RevisionAnswer = z.strictObject({
  stamp: RegistryStamp,
  at: z.number(),
  current: z.record(z.string(), WorkspaceName),
});
export type RevisionAnswer = z.output<typeof RevisionAnswer>;

/** Every answer that others may keep says under which stamp it was read. */
const stamped = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject({ stamp: RegistryStamp, ...shape });

const SettingValues = z.record(z.string(), z.json());

/** How long services wait for each other's answers. That nobody is there shows at once, and who is busy is not away. */
export const ASKED_WITHIN_MS = 5000;
/** So many sessions fit into one question. */
export const MAX_SESSIONS_ASKED = 1000;

/**
 * Requests to the registry: subject on the bus, argument, answer. Queue group `habitat`, deadline 1 s. The reply is
 * `{ok: true, answer}` or `{ok: false, code}` (a CallErrorCode), see `RegistryReply`.
 */
export const REGISTRY = {
  /** Now, not from any memory: the answer was read after the request came in. */
  revision: {
    subject: 'habitat.revision',
    ask: z.strictObject({ sessions: z.array(z.string()).max(MAX_SESSIONS_ASKED) }),
    answer: RevisionAnswer,
  },
  /** null = unknown, expired, revoked, of another kind, or its agent has no role any more. Revoked and never to be again. */
  subject: {
    subject: 'habitat.subject',
    ask: z.strictObject({ token: z.string().max(200) }),
    answer: stamped({ token: VerifiedToken.nullable() }),
  },
  /** The identity as it acts in `workspace` (else its home); `roles` = its roles everywhere. null = no role anywhere. */
  context: {
    subject: 'habitat.context',
    ask: z.strictObject({ agentId: z.string().max(128), workspace: WorkspaceName.optional() }),
    answer: stamped({
      subject: Subject.nullable(),
      quarantined: z.boolean(),
      roles: z.record(WorkspaceName, z.array(z.string())),
    }),
  },
  /** `known`: the workspace exists. */
  roles: {
    subject: 'habitat.roles',
    ask: z.strictObject({ userId: z.string().max(128), workspaceId: z.string().max(128) }),
    answer: stamped({ known: z.boolean(), roles: z.array(z.string()) }),
  },
  /** Policies attached to these resources; those without one are missing. */
  policies: {
    subject: 'habitat.policies',
    ask: z.strictObject({ resources: z.array(z.string()).max(1000) }),
    answer: stamped({ policies: z.record(z.string(), Policy) }),
  },
  /** Policies attached to the resource `root` itself, to `root` + `/...`, and those whose key starts with one of `prefixes`. */
  attached: {
    subject: 'habitat.attached',
    ask: z.strictObject({ root: z.string().max(640), prefixes: z.array(z.string().max(640)).max(8) }),
    answer: stamped({ policies: z.record(z.string(), Policy) }),
  },
  /**
   * Gives a resource without a policy the boundary of the workspace. `policy`: what it has then; null = no such workspace.
   * `declared`: only when the workspace has declared one, so that what nobody wanted to close stays open.
   */
  claim: {
    subject: 'habitat.claim',
    ask: z.strictObject({
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
    subject: 'habitat.copyPolicies',
    ask: z.strictObject({ from: ResourceKey, to: ResourceKey, by: SubjectId }),
    answer: stamped({ copied: z.int().nullable() }),
  },
  /**
   * A place for an identity: in `workspace`, else in that of the team, else in the default one. A missing workspace is
   * made, with `owner`, else the identity itself, as its admin. `created`: it got a role it had not. null = it is full.
   */
  provision: {
    subject: 'habitat.provision',
    ask: z.strictObject({
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
   * Whether an identity belongs to `owner`: `org:`, `dept:`, `team:`, `workspace:` or `agent:` and an id, or a name that is
   * unique on the node, among confirmed organisations. Unknown or ambiguous = false.
   */
  member: {
    subject: 'habitat.member',
    ask: z.strictObject({ owner: z.string().max(200), agentId: z.string().max(128) }),
    answer: stamped({ member: z.boolean() }),
  },
  /** Plan of the organisation the identity is assigned to; null = to none that an operator has confirmed. */
  plan: {
    subject: 'habitat.plan',
    ask: z.strictObject({ agentId: z.string().max(128) }),
    answer: stamped({ plan: PlanName.nullable() }),
  },
  /**
   * What an id that money may belong to stands for: an identity with a role somewhere, an organisation, or nothing known.
   * `maySpend`: `by` is that identity, the owner of the organisation, or assigned there in a role with permission `spend`;
   * `mayRead`: the same, or any member of the organisation. Without `by` both are false.
   */
  account: {
    subject: 'habitat.account',
    ask: z.strictObject({ account: z.string().max(200), by: z.string().max(128).optional() }),
    answer: stamped({ kind: z.enum(['identity', 'org']).nullable(), maySpend: z.boolean(), mayRead: z.boolean() }),
  },
  /** All values that are set: `stored` by somebody, `fixed` by the environment of the registry. */
  settings: {
    subject: 'habitat.settings',
    ask: z.strictObject({}),
    answer: stamped({ stored: SettingValues, fixed: SettingValues }),
  },
  /**
   * Sets a declared setting, or with null unsets it. Stored in any case; `changed` = another value is in effect than
   * before; `shadowedBy` = the environment fixes another one. Throws FORBIDDEN, VAF_INPUT_INVALID,
   * IDEMPOTENCY_KEY_REUSED.
   */
  changeSetting: {
    subject: 'habitat.changeSetting',
    ask: z.strictObject({
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
  audit: { subject: 'habitat.audit', ask: AuditPost, answer: z.strictObject({}) },
  /** A brain took over what an older one knew, at `at` (ms since the epoch). May be told again. */
  succession: {
    subject: 'habitat.succession',
    ask: z.strictObject({ previousBrain: z.string().min(1).max(255), at: z.number() }),
    answer: z.strictObject({}),
  },
  /** What others think of an entity, 0 to 1, as it is now. */
  trust: {
    subject: 'habitat.trust',
    ask: z.strictObject({ entityId: z.string().max(128) }),
    answer: z.strictObject({ score: z.number(), quarantined: z.boolean() }),
  },
  /** A closed trade moves the trust of its seller, once per trade. `recorded` is false for one that was told before. */
  recordTrade: {
    subject: 'habitat.recordTrade',
    ask: z.strictObject({
      tradeId: z.string().min(1).max(100),
      seller: IdentityId,
      /** Nobody gains by trading with themselves. */
      buyer: z.string().max(128).optional(),
      outcome: z.enum(['confirmed', 'refuted', 'expired', 'cancelled']),
    }),
    answer: z.strictObject({ recorded: z.boolean(), score: z.number() }),
  },
  /** Whether a principal (`agent:<agentId>`, `task:<taskId>`) holds a scope now; `expiresAt` in ms since the epoch. */
  sudo: {
    subject: 'habitat.sudo',
    ask: z.strictObject({ principal: z.string().regex(/^(agent|task):.{1,128}$/), scope: z.string().max(128) }),
    answer: z.strictObject({ allowed: z.boolean(), because: z.string(), expiresAt: z.number().optional() }),
  },
} as const;

export type RegistryQuestion = keyof typeof REGISTRY;
export type RegistryAsk<Question extends RegistryQuestion> = z.input<(typeof REGISTRY)[Question]['ask']>;
export type RegistryAnswer<Question extends RegistryQuestion> = z.output<(typeof REGISTRY)[Question]['answer']>;

/** Message from whoever verified tokens from memory: `{tokenIds}` used in the last minute. */
export const TOKENS_USED = 'habitat.tokens-used';

/** Message `{rev, tokenIds, agentIds}` after tokens or identities ended: sockets close at once. Losing it costs a second. */
export const ENDED = 'habitat.ended';
