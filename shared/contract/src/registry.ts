/** What is known of identities: the words that habitat, which is the registry of them, shares with everybody. */
import { z } from 'zod';
import { WorkspaceName } from './names.ts';
import { Subject } from './subject.ts';

export const ROLES = ['viewer', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** `wanted` or a stronger role. */
export function holdsAtLeast(roles: readonly string[], wanted: Role): boolean {
  return ROLES.slice(ROLES.indexOf(wanted)).some((role) => roles.includes(role));
}

/** Roles in one of the workspaces: one may be called by a word that every object has. */
export function rolesIn(roles: Readonly<Record<string, readonly string[]>>, workspace: string): readonly string[] {
  return (Object.hasOwn(roles, workspace) ? roles[workspace] : undefined) ?? [];
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
  /** Under what events address it: ids of the accounts it may read, which are the agent's own, unless an organisation has that
   * id, and those of the organisations that it owns or is assigned to; and the groups that it belongs to, as
   * `in:team:`, `in:dept:` and `in:org:` and an id: no identity is called so. */
  accounts: z.array(z.string()),
  /** Organisation and plan of the agent's assignment, once an operator has confirmed that organisation. */
  org: z.string().nullable(),
  plan: PlanName.nullable(),
});
export type VerifiedToken = z.output<typeof VerifiedToken>;

/** Message from whoever verified tokens from memory: `{tokenIds}` used in the last minute. */
export const TOKENS_USED = 'habitat.tokens-used';

/** Message `{rev, tokenIds, agentIds}` after tokens or identities ended: sockets close at once. Losing it costs a second. */
export const ENDED = 'habitat.ended';
