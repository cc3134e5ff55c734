/** svc_sync_rebase, svc_sync_status: what a branch has on its own put on top of a remote's; what is known of remotes. */
import { z } from 'zod';
import { type Decision, deny } from '@svc/contract/decision.ts';
import { BrainName, BranchName } from '@svc/contract/names.ts';
import { brainAndBranch, leaseGuard, TimestampMs } from '@svc/contract/params.ts';
import { defineTool } from '../../deps.ts';
import type { SyncRefusal } from '../../operations/sync-outcome.ts';
import { RemoteName, syncShown } from '../../tools/sync.ts';
import { CHANGE_RAISES, READ_RAISES, resolveReads, resolveWrite, settled } from '../../tools/target.ts';
import { rebase } from '../rebase.ts';
import { readSyncState } from '../state.ts';

/** A fetch meets no other refusals of a remote. */
const REBASE_REFUSES = [
  'E_LOCKED',
  'E_FENCED',
  'E_READ_ONLY',
  'E_BRAIN_DIVERTED',
  'E_BUSY',
  'E_STATE_WRITE',
  'E_BRANCH_ABSENT',
  'E_LIMIT',
  'E_NOT_CONFIGURED',
  'E_REMOTE_UNREACHABLE',
  'E_REMOTE_TLS',
  'E_REMOTE_AUTH',
  'E_REMOTE_ABSENT',
  'E_REMOTE_FULL',
  'E_REMOTE_CORRUPT',
  'E_UNDER_WAY',
  'E_SYNC_CONFLICT',
] as const;

const rebaseTool = defineTool({
  name: 'svc_sync_rebase',
  area: 'sync',
  description:
    "Puts the commits that a branch has on its own, one by one, on top of the remote's; a clash changes nothing.",
  input: z.strictObject({
    provider: RemoteName.optional().describe('Name of the remote, default origin.'),
    ...brainAndBranch,
    ...leaseGuard,
  }),
  output: z.strictObject({
    rebased: z.literal(true),
    ...syncShown,
    status: z.string().describe('up-to-date, fast-forward or rebased.'),
    rescue: z
      .string()
      .nullable()
      .describe('Where the branch was, when commits were replayed: rescue/<this>/ours; the remote: .../theirs.'),
    replayed: z.int().describe('Commits; those that the remote has already are left out.'),
  }),
  access: 'identified',
  effect: 'external',
  refuses: REBASE_REFUSES,
  raises: CHANGE_RAISES,
  dress: { rebased: false },
  aliases: { remote: 'provider' },
  deadlineMs: 120_000,
  async handler({ provider = 'origin', ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const decision = settled(context, await ask(rebase, { branch, remote: provider }));
    const outcome = context.take(withoutPushing(decision));
    return {
      rebased: true as const,
      brain,
      ...outcome,
      pulled: { ...outcome.pulled },
      conflicts: [...outcome.conflicts],
    };
  },
});

function withoutPushing<Value>(
  decision: Decision<Value, SyncRefusal>,
): Decision<Value, (typeof REBASE_REFUSES)[number]> {
  if (decision.ok) return decision;
  const { code, details, message } = decision;
  if (code === 'E_REMOTE_REJECTED' || code === 'E_REMOTE_RACE') throw new Error(`a fetch was refused with ${code}`);
  return deny(code, details, message);
}

const status = defineTool({
  name: 'svc_sync_status',
  area: 'sync',
  description:
    'Shows remotes, how far each branch is from them as last fetched, open conflicts, and what is not pushed.',
  input: z.strictObject({
    brain: BrainName.optional().describe("Brain; default: every brain of the session's stack."),
  }),
  output: z.strictObject({
    enabled: z.boolean().describe('Whether any remote is configured.'),
    remotes: z
      .array(
        z.strictObject({
          brain: z.string(),
          name: z.string(),
          url: z.string(),
          branch: BranchName,
          ahead: z.int().nullable().describe('Commits; null = not known, or not to be told.'),
          behind: z.int().nullable(),
          lastAt: TimestampMs.nullable(),
          lastStatus: z.string().nullable().describe('How the last sync ended: a status, or the code of a refusal.'),
          breaker: z.enum(['open', 'closed']).describe('open: it failed repeatedly and is not asked for a while.'),
        }),
      )
      .describe("The session's branch, and those that were synced, at most 100 a remote."),
    conflicts: z.array(
      z.strictObject({
        brain: z.string(),
        branch: z.string(),
        id: z.string(),
        file: z.string(),
        kind: z.string(),
        rescue: z.string().nullable(),
        at: TimestampMs,
      }),
    ),
    pendingPush: z.int().describe('Branches with files or commits that a remote lacks.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler({ brain: named }, context) {
    const targets = await resolveReads(context, { brain: named });
    const states = await Promise.all(
      targets.map(async ({ ask, brain, branch }) => ({ brain, ...(await ask(readSyncState, { branch })) })),
    );
    const remotes = states.flatMap(({ brain, remotes: rows }) => rows.map((row) => ({ brain, ...row })));
    return {
      enabled: remotes.length > 0,
      remotes,
      conflicts: states.flatMap(({ brain, conflicts }) => conflicts.map((row) => ({ brain, ...row }))),
      pendingPush: states.reduce((sum, { pendingPush }) => sum + pendingPush, 0),
    };
  },
});

export const remoteSyncTools = [rebaseTool, status];
