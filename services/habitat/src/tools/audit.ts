/** svc_audit_*: what happened, kept in chains that show when anything in them was changed. */
import { z } from 'zod';
import { MAX_AUDIT_DATA_BYTES } from '@svc/contract/audit.ts';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { DEFAULT_LIMIT, decodeCursor, encodeCursor, page, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { auditSubjectOf } from '@svc/runtime/audit.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import type { JudgedChain } from '../audit/audit.ts';
import { actorOf, mayActIn } from '../domain/actor.ts';
import { type ChainedEntry, workspaceOfChain } from '../domain/audit-chain.ts';
import { isSound } from '../domain/audit-verdict.ts';
import { holdsRole } from '../roles.ts';
import { type AuditPosition, type AuditView, listEntries } from '../store/audit-list.ts';
import { workspaceExists } from '../store/workspace-rows.ts';
import { currentWorkspace } from './current.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const MAX_DEPTH = 64;

const EventName = z.string().regex(/^[^\p{C}]{1,100}$/u, 'must be 1-100 characters without control characters');
const workspace = WorkspaceName.optional().describe('Default: the current one.');

const entry = z.strictObject({
  id: z.string(),
  seq: z.int(),
  at: TimestampMs,
  event: z.string(),
  kind: z.enum(['system', 'user']).describe('user = logged by svc_audit_log.'),
  subject: z.strictObject({
    userId: z.string().optional(),
    agentId: z.string().optional(),
    verified: z.boolean(),
    operator: z.literal(true).optional(),
  }),
  workspace: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
  prevHash: Sha256Hex,
  hash: Sha256Hex,
});

const svcAuditLog = defineTool({
  name: 'svc_audit_log',
  area: 'audit',
  description: 'Adds an entry to the audit of a workspace, stamped with the caller.',
  input: z.strictObject({
    event: EventName,
    data: z
      .union([z.record(z.string(), z.unknown()), z.string()])
      .optional()
      .describe('At most 16 KiB. A text is read as JSON, else kept as {value}. Secrets are masked.'),
    workspace,
  }),
  output: z.strictObject({
    logged: z.literal(true),
    id: z.string(),
    seq: z.int(),
    at: TimestampMs,
    event: z.string(),
    hash: Sha256Hex,
    prevHash: Sha256Hex,
  }),
  // Any role there.
  access: 'workspace:viewer',
  effect: 'write',
  refuses: [],
  aliases: { type: { into: ['event'], alone: true, expand: (value) => ({ event: value }) } },
  example: { event: 'release', data: { version: '1.2.0' } },
  async handler({ event, data = {}, workspace: named }, context) {
    const { deps, caller } = context;
    const content = loggedData(data);
    const where = named ?? (await currentWorkspace(deps, caller));
    const outcome = await deps.store.change(context, async ({ tx }): Promise<Decision<ChainedEntry, never>> => {
      if (!(await workspaceExists(tx, where))) throw problem('workspace', 'there is no such workspace');
      const id = deps.platform.ids.next('aud');
      const subject = auditSubjectOf(caller);
      const [appended] = await deps.audit.append(tx, [
        { id, event, kind: 'user', workspace: where, subject, data: content },
      ]);
      if (appended === undefined) throw new Error('a new entry of the audit was there already');
      return allow(appended);
    });
    const logged = settled(context, outcome);
    if (!outcome.replayed) deps.audit.appended([logged]);
    const { id, seq, at, hash, prevHash } = logged;
    return { logged: true as const, id, seq, at, event: logged.event, hash, prevHash };
  },
});

function loggedData(data: Record<string, unknown> | string): Record<string, unknown> {
  const content = typeof data === 'string' ? parsedText(data) : data;
  if (depthOf(content) > MAX_DEPTH) throw problem('data', `must be nested at most ${MAX_DEPTH} deep`);
  if (Buffer.byteLength(JSON.stringify(content)) > MAX_AUDIT_DATA_BYTES)
    throw problem('data', 'must be at most 16 KiB as JSON');
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

/** Level by level, because a text of 16 KiB may be nested deeper than a recursion can go. */
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
  async handler({ limit = DEFAULT_LIMIT, cursor, workspace: named, event }, { deps, caller }) {
    const view = await viewOf(deps, caller, named ?? null);
    const after = cursor === undefined ? null : positionIn(cursor);
    const found = await listEntries(deps.store.client, { ...view, event: event ?? null }, { limit, after });
    const rows = found.slice(0, limit);
    const last = rows.at(-1);
    const more = found.length > limit && last !== undefined;
    const entries = rows.map(({ chain: _chain, actor: _actor, ...shown }) => shown);
    return { count: entries.length, entries, ...(more ? { nextCursor: cursorOf(last) } : {}) };
  },
});

/** What the caller sees: everything, the entries of a workspace, or its own. */
async function viewOf(
  deps: HabitatDeps,
  caller: Caller,
  named: string | null,
): Promise<Pick<AuditView, 'workspace' | 'actor'>> {
  if (caller.operator) return { workspace: named, actor: null };
  const actor = actorOf(caller);
  if (named !== null && !mayActIn(actor, named)) throw new CallError('FORBIDDEN');
  const where = named ?? (await currentWorkspace(deps, caller));
  if (await holdsRole(deps.store.client, caller, where, 'admin')) return { workspace: where, actor: null };
  return { workspace: named ?? actor.token?.bound ?? null, actor: actor.identity ?? '' };
}

function cursorOf({ at, seq, chain }: AuditPosition): string {
  return encodeCursor(`${at}/${seq}/${chain}`);
}

function positionIn(cursor: string): AuditPosition {
  const [, at, seq, chain = ''] = /^(\d{1,14})\/(-?\d{1,15})\/([^\0]*)$/.exec(decodeCursor(cursor) ?? '') ?? [];
  if (at === undefined || seq === undefined) throw problem('cursor', 'is not a cursor');
  return { at: Number(at), seq: Number(seq), chain };
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
    if (broken.length > 0) await tellOf(broken, deps, caller);
    const chains = judged.map(({ chain, ...verdict }) => ({ workspace: workspaceOfChain(chain), ...verdict }));
    return { ok: broken.length === 0, chains };
  },
});

async function tellOf(broken: readonly JudgedChain[], { store }: HabitatDeps, caller: Caller): Promise<void> {
  await store.change({ caller, idempotency: null }, async (unit) => {
    for (const { chain, brokenAt = null } of broken) {
      unit.emit({ name: 'audit:broken', payload: { chain, seq: brokenAt } });
    }
    return allow(null);
  });
}

function problem(path: string, message: string) {
  return invalidArguments([{ path, message }]);
}

export const auditTools = [svcAuditLog, svcAuditList, svcAuditVerify];
