/** What the registry of identities (habitat) answers to other services over the bus. No answer is never a yes. */
import { z } from 'zod';
import { WorkspaceName } from './names.ts';
import { Policy } from './policy.ts';
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
 * touched a policy or a workspace. Two stamps with equal `rev` saw the same rows. */
export const RegistryStamp = z.strictObject({ rev: z.int(), policies: z.int() });
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
  roles: z.record(WorkspaceName, z.array(z.string())),
  /** Organisation and plan of the agent's assignment. */
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

/**
 * Requests to the registry: subject on the bus, argument, answer. Queue group `habitat`, deadline 1 s. The reply is
 * `{ok: true, answer}` or `{ok: false, code}` (a CallErrorCode), see `RegistryReply`.
 */
export const REGISTRY = {
  /** Now, not from any memory: the answer was read after the request came in. */
  revision: {
    subject: 'habitat.revision',
    ask: z.strictObject({ sessions: z.array(z.string()).max(1000) }),
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
} as const;

export type RegistryQuestion = keyof typeof REGISTRY;
export type RegistryAsk<Question extends RegistryQuestion> = z.input<(typeof REGISTRY)[Question]['ask']>;
export type RegistryAnswer<Question extends RegistryQuestion> = z.output<(typeof REGISTRY)[Question]['answer']>;

/** Message from whoever verified tokens from memory: `{tokenIds}` used in the last minute. */
export const TOKENS_USED = 'habitat.tokens-used';

/** Message `{rev, tokenIds, agentIds}` after tokens or identities ended: sockets close at once. Losing it costs a second. */
export const ENDED = 'habitat.ended';
