/** What the tools of a temporary space have in common, whatever they are called. */
import { z } from 'zod';
import { IdentityId } from '@svc/contract/names.ts';
import { FileContent, page, PathText, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { blockedPath, checkedPath } from '../../blocked-path.ts';
import type { BrainDeps } from '../../deps.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { nextCursor } from '../../tools/results.ts';
import { type Member, SPACES, type Space } from '../domain/space.ts';
import type { ListedFile } from '../file-store.ts';
import { memberOf } from './member.ts';

const DEFAULT_TTL_MS = 604_800_000;
const MAX_TTL_MS = 2_592_000_000;

export const asSomebody = { userCtx: UserCtx.optional() };
export const space = z.enum(SPACES);
export const name = PathText.describe('File name, without directories.');
export const put = {
  name,
  content: FileContent,
  ttl: z.int().min(1).max(MAX_TTL_MS).optional().describe('How long it stays, in ms; default 7 days, at most 30.'),
};
export const addressee = {
  to: IdentityId.optional().describe('Agent of the workspace for whom it is; default: everybody there.'),
};

export const stored = {
  saved: z.literal(true),
  name: z.string(),
  space,
  bytes: z.int(),
  hash: Sha256Hex,
  expiresAt: TimestampMs,
};
export const storedFor = { ...stored, to: z.string().nullable() };
const listed = z.strictObject({
  name: z.string(),
  bytes: z.int(),
  hash: Sha256Hex,
  by: z.string(),
  to: z.string().nullable().describe('Null = the whole workspace.'),
  at: TimestampMs,
  expiresAt: TimestampMs,
});
export const listing = { files: z.array(listed), space };

/** Parts of a tool's context; that of any tool here fits. */
type Context<Refuses extends 'E_QUOTA' | 'AGENT_NOT_FOUND' | 'E_TMP_ABSENT'> = Pick<
  ToolContext<BrainDeps, Refuses, 'FORBIDDEN' | 'VAF_PATH_BLOCKED'>,
  'deps' | 'caller' | 'idempotency' | 'markReplayed' | 'take'
>;

/** Throws VAF_PATH_BLOCKED. */
function checkedName(name: string): string {
  if (name.includes('/')) throw blockedPath('has directories; what is temporary lies in none');
  return checkedPath(name);
}

interface PutArguments {
  readonly name: string;
  readonly content: string;
  readonly ttl?: number | undefined;
  readonly to?: string | undefined;
}

export async function putInto(
  context: Context<'E_QUOTA' | 'AGENT_NOT_FOUND'>,
  space: Space,
  { name, content, ttl = DEFAULT_TTL_MS, to }: PutArguments,
) {
  const member = memberOf(context.caller);
  const meantFor = to === undefined ? null : { agent: to, isKnown: await isMember(context, member, to) };
  const file = { space, name: checkedName(name), content, ttlMs: ttl, to: meantFor };
  const kept = settled(context, await context.deps.tmp.files.put(context, member, file));
  return { saved: true as const, name, space, ...kept };
}

async function isMember({ deps }: Pick<Context<never>, 'deps'>, member: Member, agent: string): Promise<boolean> {
  return agent === member.actor || (await deps.rolesOf(agent, member.workspace)).length > 0;
}

export async function getFrom(context: Context<'E_TMP_ABSENT'>, space: Space, name: string) {
  const { deps, caller } = context;
  const file = context.take(await deps.tmp.files.read(memberOf(caller), space, checkedName(name)));
  const { content, bytes, hash, by, at, expiresAt } = file;
  return { name, content, space, bytes, hash, by, at, expiresAt };
}

export async function deleteFrom(context: Context<never>, space: Space, name: string) {
  const { deps, caller } = context;
  const outcome = await deps.tmp.files.delete(context, memberOf(caller), space, checkedName(name));
  return { deleted: settled(context, outcome), name };
}

export async function listSpace(
  { deps, caller }: Pick<Context<never>, 'deps' | 'caller'>,
  space: Space,
  { limit, cursor }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
) {
  const position = positionOf(limit, cursor);
  const rows = await deps.tmp.files.list(memberOf(caller), space, position);
  const { items, next } = nextPage(rows, position, ({ name, owner }) => `${name}/${owner}`);
  return { files: items.map(shownFile), space, ...next };
}

function shownFile({ name, bytes, hash, by, owner, at, expiresAt }: ListedFile) {
  return { name, bytes, hash, by, to: owner === '' ? null : owner, at, expiresAt };
}

export async function clearDropboxOf(context: Context<never>) {
  const { deps, caller } = context;
  const count = settled(context, await deps.tmp.files.clear(context, memberOf(caller), 'dropbox'));
  return { cleared: true as const, count };
}

export const putShape = {
  area: 'tmp',
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_QUOTA'],
  raises: ['VAF_PATH_BLOCKED'],
} as const;

export const getShape = {
  area: 'tmp',
  input: z.strictObject({ name, ...asSomebody }),
  output: z.strictObject({
    name: z.string(),
    content: z.string(),
    space,
    bytes: z.int(),
    hash: Sha256Hex,
    by: z.string(),
    at: TimestampMs,
    expiresAt: TimestampMs,
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_TMP_ABSENT'],
  raises: ['VAF_PATH_BLOCKED'],
  example: { name: 'notes.txt' },
} as const;

export const deleteShape = {
  area: 'tmp',
  input: z.strictObject({ name, ...asSomebody }),
  output: z.strictObject({ deleted: z.boolean(), name: z.string() }),
  access: 'identified',
  effect: 'write-idempotent',
  destructive: true,
  refuses: [],
  raises: ['VAF_PATH_BLOCKED'],
  example: { name: 'notes.txt' },
} as const;

export const listShape = {
  area: 'tmp',
  input: z.strictObject({ ...asSomebody, ...page }),
  output: z.strictObject({ ...listing, ...nextCursor }),
  access: 'identified',
  effect: 'read',
  refuses: [],
} as const;
