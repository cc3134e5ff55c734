/** svc_audit_*: what happened, kept in chains that show when anything in them was changed. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { DEFAULT_LIMIT, decodeCursor, encodeCursor, page, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { actorOf, mayActIn } from '../domain/actor.ts';
import { type ChainedEntry, workspaceOfChain } from '../domain/audit-chain.ts';
import { isSound } from '../domain/audit-verdict.ts';
import { holdsRole } from '../roles.ts';
import type { AuditView } from '../store/audit-list.ts';
import { currentWorkspace } from './current.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const MAX_DEPTH = 64;
/** Of what somebody logs; what services record may be larger. */
const MAX_LOGGED_BYTES = 4 * 1024;

const EventName = z.string().regex(/^[^\p{C}]{1,100}$/u, 'must be 1-100 characters without control characters');
const workspace = WorkspaceName.optional().describe('Default: the current one.');

const KINDS = ['system', 'user'] as const;

/** Where an entry stands in its chain; the order in which others write would tell of what they do. */
const POSITION = {
  seq: z.int().nullable().describe('Null for whoever is no admin of the workspace.'),
  prevHash: Sha256Hex.nullable().describe('Null as `seq`.'),
  hash: Sha256Hex.nullable().describe('Null as `seq`.'),
};

const entry = z.strictObject({
  id: z.string(),
  at: TimestampMs,
  event: z.string(),
  kind: z.enum(KINDS).describe('user = logged by svc_audit_log.'),
  subject: z.strictObject({
    userId: z.string().optional(),
    agentId: z.string().optional(),
    verified: z.boolean(),
    operator: z.literal(true).optional(),
  }),
  workspace: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
  ...POSITION,
});

type Position = Pick<ChainedEntry, 'seq' | 'prevHash' | 'hash'>;
const HIDDEN_POSITION = { seq: null, prevHash: null, hash: null };

function shownPosition({ seq, prevHash, hash }: Position, isAdmin: boolean) {
  return isAdmin ? { seq, prevHash, hash } : HIDDEN_POSITION;
}

const svcAuditLog = defineTool({
  name: 'svc_audit_log',
  area: 'audit',
  description: 'Adds an entry to the audit of a workspace, stamped with the caller.',
  input: z.strictObject({
    event: EventName,
    data: z
      .union([z.record(z.string(), z.unknown()), z.string()])
      .optional()
      .describe('At most 4 KiB. A text is read as JSON, else kept as {value}. Secrets are masked.'),
    workspace,
  }),
  output: z.strictObject({
    logged: z.literal(true),
    id: z.string(),
    at: TimestampMs,
    event: z.string(),
    ...POSITION,
  }),
  // Any role there.
  access: 'workspace:viewer',
  effect: 'write',
  refuses: ['E_QUOTA'],
  aliases: { type: { into: ['event'], alone: true, expand: (value) => ({ event: value }) } },
  example: { event: 'release', data: { version: '1.2.0' } },
  async handler({ event, data = {}, workspace: named }, context) {
    const { deps, caller } = context;
    const content = loggedData(data);
    const where = named ?? (await currentWorkspace(deps, caller));
    const isAdmin = await holdsRole(deps.store.client, caller, where, 'admin');
    const wish = { workspace: where, event, data: content, isAdmin };
    const logged = settled(context, await deps.store.logEntry(context, wish));
    const { id, at } = logged;
    return { logged: true as const, id, at, event: logged.event, ...shownPosition(logged, isAdmin) };
  },
});

function loggedData(data: Record<string, unknown> | string): Record<string, unknown> {
  const content = typeof data === 'string' ? parsedText(data) : data;
  if (depthOf(content) > MAX_DEPTH) throw problem('data', `must be nested at most ${MAX_DEPTH} deep`);
  if (Buffer.byteLength(JSON.stringify(content)) > MAX_LOGGED_BYTES)
    throw problem('data', 'must be at most 4 KiB as JSON');
  return content;
}

function parsedText(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : { value: parsed };
  } catch {
    return { value: text };
  }
}

/** Level by level, because a text may be nested deeper than a recursion can go. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = [value]; level.length > 0; depth += 1) {
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return depth;
}

const svcAuditList = defineTool({
  name: 'svc_audit_list',
  area: 'audit',
  description:
    'Entries of the audit, newest first: all to an operator, a workspace to its admin, else those of oneself.',
  input: z.strictObject({
    ...page,
    workspace: WorkspaceName.optional().describe('Entries of this one; default for an admin: the current one.'),
    event: EventName.optional().describe('Entries of this event.'),
    kind: z.enum(KINDS).optional().describe('Entries of this kind.'),
  }),
  output: z.strictObject({
    count: z.int().describe('Of this page.'),
    entries: z.array(entry),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { limit: 20 },
  async handler({ limit = DEFAULT_LIMIT, cursor, workspace: named, event = null, kind = null }, { deps, caller }) {
    const { isAdmin, ...view } = await viewOf(deps, caller, named ?? null);
    const after = cursor === undefined ? null : lastIdIn(cursor);
    const found = await deps.store.auditEntries({ ...view, event, kind }, { limit, after });
    if (found === null) throw problem('cursor', 'is not a cursor');
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    const more = found.length > limit && last !== undefined;
    const entries = rows.map(({ chain: _chain, actor: _actor, ...row }) => ({
      ...row,
      ...shownPosition(row, isAdmin),
    }));
    return { count: entries.length, entries, ...(more ? { nextCursor: encodeCursor(last.id) } : {}) };
  },
});

/** What the caller sees: everything, the entries of a workspace, or its own. */
async function viewOf(
  deps: HabitatDeps,
  caller: Caller,
  named: string | null,
): Promise<Pick<AuditView, 'workspace' | 'actor'> & { readonly isAdmin: boolean }> {
  if (caller.operator) return { workspace: named, actor: null, isAdmin: true };
  const actor = actorOf(caller);
  if (named !== null && !mayActIn(actor, named))
    throw new CallError('FORBIDDEN', `The token does not act in the workspace ${named}.`);
  const where = named ?? (await currentWorkspace(deps, caller));
  if (await holdsRole(deps.store.client, caller, where, 'admin'))
    return { workspace: where, actor: null, isAdmin: true };
  return { workspace: named ?? actor.token?.bound ?? null, actor: actor.identity ?? '', isAdmin: false };
}

/** Cursors name the last entry of a page, not where it stands. */
function lastIdIn(cursor: string): string {
  const [id] = /^[A-Za-z0-9_-]{1,100}$/.exec(decodeCursor(cursor) ?? '') ?? [];
  if (id === undefined) throw problem('cursor', 'is not a cursor');
  return id;
}

const svcAuditVerify = defineTool({
  name: 'svc_audit_verify',
  area: 'audit',
  description: 'Verifies the chains of the audit against their hashes and signatures, and tells where one is broken.',
  input: z.strictObject({
    workspace: WorkspaceName.optional().describe('Default: all for an operator, else the current one.'),
  }),
  output: z.strictObject({
    ok: z.boolean(),
    chains: z.array(
      z.strictObject({
        workspace: z.string().nullable().describe('null = the chain of the node.'),
        entries: z.int(),
        head: Sha256Hex.describe('Hash of the last entry.'),
        checkpointSeq: z.int().describe('The last entry a checkpoint vouches for.'),
        keptFrom: z.int().optional().describe('The first entry that was not removed for its age, where some were.'),
        brokenAt: z.int().optional().describe('The first entry that is not as it was written.'),
        truncated: z.literal(true).optional().describe('Entries at the end are missing.'),
      }),
    ),
  }),
  access: 'workspace:admin',
  effect: 'read',
  refuses: [],
  deadlineMs: 120_000,
  example: {},
  async handler({ workspace: named }, context) {
    const { deps, caller } = context;
    const only = caller.operator ? (named ?? null) : (named ?? (await currentWorkspace(deps, caller)));
    const judged = await deps.audit.judge(only);
    const broken = judged.filter((chain) => !isSound(chain));
    if (broken.length > 0) await deps.store.tellOfBroken({ caller, idempotency: null }, broken);
    const chains = judged.map(({ chain, ...verdict }) => ({ workspace: workspaceOfChain(chain), ...verdict }));
    return { ok: broken.length === 0, chains };
  },
});

function problem(path: string, message: string) {
  return invalidArguments([{ path, message }]);
}

export const auditTools = [svcAuditLog, svcAuditList, svcAuditVerify];
