/** Tokens of programs built on this service, for their own users: no door here takes them. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { defineTool } from '../deps.ts';
import { actorOf, isSelf } from '../domain/actor.ts';
import { permits } from '../domain/permissions.ts';
import { Reference } from './references.ts';
import { teamGrants } from '../store/team-permissions.ts';
import { readAuthToken } from '../store/token-rows.ts';
import { currentWorkspace } from './current.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const TOKEN_BYTES = 32;

const roleText = z.string().regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must be 1-64 letters, digits or ._:-');
const token = z.string().min(1).max(200).describe('The raw token.');

const create = defineTool({
  name: 'auth_create',
  area: 'auth',
  description:
    'Makes an application token for a user, good for an hour; it is shown this once and opens no door here. Roles that one has by one’s own making are not in it.',
  input: z.strictObject({
    userId: IdentityId,
    roles: z.array(roleText).max(16).optional().describe('What the program may be told that the user is.'),
  }),
  output: z.strictObject({
    token: z.string().nullable().describe('Null when the reply is a stored one.'),
    tokenId: z.string(),
    userId: z.string(),
    roles: z.array(z.string()),
    expiresAt: TimestampMs,
    replayed: z.literal(true).optional(),
  }),
  access: 'identified',
  effect: 'write',
  secrets: ['token'],
  refuses: [],
  example: { userId: 'ada', roles: ['editor'] },
  async handler({ userId, roles = [] }, context) {
    const { deps, caller } = context;
    if (!caller.operator && !isSelf(actorOf(caller), userId))
      throw new CallError('FORBIDDEN', 'A token for somebody else is made by operators.');
    const workspace = await currentWorkspace(deps, caller);
    const raw = `auth_${deps.platform.random.bytes(TOKEN_BYTES).toString('hex')}`;
    const outcome = await deps.store.mintAuthToken(context, { tokenHash: hashOf(raw), userId, roles, workspace });
    const made = settled(context, outcome);
    return outcome.replayed ? { token: null, ...made, replayed: true as const } : { token: raw, ...made };
  },
});

const verify = defineTool({
  name: 'auth_verify',
  area: 'auth',
  description: 'Whose application token it is.',
  input: z.strictObject({ token }),
  output: z.union([
    z.strictObject({
      valid: z.literal(true),
      payload: z.strictObject({ userId: z.string(), roles: z.array(z.string()), expiresAt: TimestampMs }),
    }),
    z.strictObject({ valid: z.literal(false), reason: z.literal('invalid_or_expired') }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(input, { deps }) {
    const payload = await found(deps.store.client, input.token);
    return payload === null
      ? { valid: false as const, reason: 'invalid_or_expired' as const }
      : { valid: true as const, payload };
  },
});

const requirePermission = defineTool({
  name: 'auth_require',
  area: 'auth',
  description:
    'Whether the user of an application token has a permission, by its roles or by a place in an organisation.',
  input: z.strictObject({
    token,
    permission: z.string().min(1).max(64).optional().describe('Absent = the token must be good.'),
    org: Reference.optional().describe(
      'Organisation, by id or name, in which a place there is to count; else only those count that an operator has confirmed.',
    ),
  }),
  output: z.union([
    z.strictObject({ allowed: z.literal(true), userId: z.string(), permission: z.string().nullable() }),
    z.strictObject({
      allowed: z.literal(false),
      permission: z.string().nullable(),
      reason: z.enum(['invalid_token', 'missing_permission']),
    }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ token: raw, permission = null, org = null }, { deps }) {
    const { client } = deps.store;
    const payload = await found(client, raw);
    if (payload === null) return { allowed: false as const, permission, reason: 'invalid_token' as const };
    const { userId, roles } = payload;
    const has =
      permission === null || permits(roles, permission) || (await teamGrants(client, userId, permission, org));
    return has
      ? { allowed: true as const, userId, permission }
      : { allowed: false as const, permission, reason: 'missing_permission' as const };
  },
});

function found(client: SqlClient, raw: string): ReturnType<typeof readAuthToken> {
  return readAuthToken(client, hashOf(raw));
}

function hashOf(raw: string): string {
  return hash('sha256', raw, 'hex');
}

export const authTools = [create, verify, requirePermission];
