/** Bearer tokens of agents and users: minted once, verified against the rows, revoked for good. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { page, TimestampMs } from '@svc/contract/params.ts';
import { holdsAtLeast } from '@svc/contract/registry.ts';
import { ShownSubject, shownSubject } from '@svc/contract/subject.ts';
import { defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { memberships } from '../roles.ts';
import { readToken } from '../store/identity-rows.ts';
import { listTokens } from '../store/listings.ts';
import { readTokenHash } from '../store/token-rows.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const MAX_TTL_MS = 2_592_000_000;
const TOKEN_BYTES = 32;

const Profile = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be the name of a profile')
  .describe('Only the tools of this profile.');

const mint = defineTool({
  name: 'svc_habitat_mintToken',
  area: 'habitat',
  description: 'Mints a bearer token of an agent or user; the raw token is shown this once.',
  input: z.strictObject({
    agentId: IdentityId,
    ttlMs: z.int().min(1).max(MAX_TTL_MS).optional().describe('Life in ms; a day by default, 30 days at most.'),
    workspace: WorkspaceName.optional().describe('The only workspace in which it acts.'),
    readOnly: z.boolean().optional().describe('Only tools that change nothing.'),
    profile: Profile.optional(),
  }),
  output: z.strictObject({
    token: z.string().nullable().describe('Null when the reply is a stored one.'),
    tokenHash: z.string(),
    tokenId: z.string(),
    agentId: z.string(),
    workspace: z.string(),
    roles: z.array(z.string()),
    bound: z.boolean(),
    readOnly: z.boolean(),
    profile: z.string().nullable(),
    mintedAt: TimestampMs,
    expiresAt: TimestampMs,
    ttlMs: z.number(),
    subject: ShownSubject,
    replayed: z.literal(true).optional(),
  }),
  access: 'identified',
  effect: 'write',
  secrets: ['token'],
  refuses: ['AGENT_NOT_FOUND'],
  example: { agentId: 'ada', ttlMs: 3_600_000 },
  async handler({ agentId, ...wish }, context) {
    const { store, platform } = context.deps;
    const raw = `svc_${platform.random.bytes(TOKEN_BYTES).toString('hex')}`;
    const tokenHash = hash('sha256', raw, 'hex');
    const outcome = await store.mintToken(context, { agentId, tokenHash, asked: wish });
    const minted = settled(context, outcome);
    if (!outcome.replayed) return { token: raw, tokenHash, ...minted };
    const stored = await readTokenHash(store.client, minted.tokenId);
    return { token: null, tokenHash: stored, ...minted, replayed: true as const };
  },
});

const INVALID = { valid: false as const };

const verify = defineTool({
  name: 'svc_habitat_verifyToken',
  area: 'habitat',
  description: 'Whose token it is, as the registry stands now; anything else is {valid: false}.',
  input: z.strictObject({ token: z.unknown().describe('The raw token.') }),
  output: z.union([
    z.strictObject({
      valid: z.literal(true),
      subject: ShownSubject,
      tokenId: z.string(),
      expiresAt: TimestampMs,
      readOnly: z.boolean(),
      profile: z.string().nullable(),
    }),
    z.strictObject({ valid: z.literal(false) }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: [],
  /** Every value costs one look at the rows, so that time tells nothing. */
  async handler({ token }, { deps }) {
    const digest = hash('sha256', typeof token === 'string' ? token : '', 'hex');
    const { value, now } = await readToken(deps.store.client, digest);
    if (value === null || value.limits.expiresAt <= now) return INVALID;
    const { tokenId, expiresAt, readOnly, profile } = value.limits;
    deps.tokenUse.note([tokenId]);
    return { valid: true as const, subject: shownSubject(value.subject), tokenId, expiresAt, readOnly, profile };
  },
});

const revoke = defineTool({
  name: 'svc_habitat_revokeToken',
  area: 'habitat',
  description: 'Ends a token for good; whoever holds the raw one may always end it.',
  input: z.strictObject({
    tokenOrHash: z.string().min(1).max(200).describe('The raw token, its SHA-256 in hex, or its id.'),
  }),
  output: z.strictObject({ revoked: z.boolean() }),
  access: 'public',
  effect: 'write-idempotent',
  destructive: true,
  openToReaders: true,
  refuses: [],
  async handler({ tokenOrHash }, context) {
    const given = { tokenOrHash, hashOfGiven: hash('sha256', tokenOrHash, 'hex') };
    return settled(context, await context.deps.store.revokeToken(context, given));
  },
});

const list = defineTool({
  name: 'svc_habitat_listTokens',
  area: 'habitat',
  description: "The caller's own tokens, and those bound to workspaces that the caller administers; never a raw one.",
  input: z.strictObject({ agentId: IdentityId.optional().describe('Of this agent alone.'), ...page }),
  output: z.strictObject({
    tokens: z.array(
      z.strictObject({
        tokenId: z.string(),
        hashPrefix: z.string(),
        agentId: z.string(),
        workspace: z.string().nullable(),
        readOnly: z.boolean(),
        profile: z.string().nullable(),
        mintedBy: z.string(),
        mintedAt: TimestampMs,
        expiresAt: TimestampMs,
        revokedAt: TimestampMs.optional(),
        lastUsedAt: TimestampMs.optional(),
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler({ agentId = null, limit, cursor }, { deps: { store }, caller }) {
    const { identity, token: shown } = actorOf(caller);
    const held = await memberships(store.client, caller);
    const administered = [...held].filter(([, roles]) => holdsAtLeast(roles, 'admin')).map(([workspace]) => workspace);
    const position = positionOf(limit, cursor);
    const scope = { all: caller.operator, self: identity, selfIn: shown?.bound ?? null, administered, agentId };
    const rows = await listTokens(store.client, scope, position);
    const { items, next } = nextPage(rows, position, ({ tokenId }) => tokenId);
    const tokens = items.map(({ revokedAt, lastUsedAt, ...token }) => ({
      ...token,
      ...(revokedAt === null ? {} : { revokedAt }),
      ...(lastUsedAt === null ? {} : { lastUsedAt }),
    }));
    return { tokens, ...next };
  },
});

export const tokenTools = [mint, verify, revoke, list];
