/** svc_sync: pull and push. */
import { z } from 'zod';
import { neverDenied } from '@svc/contract/decision.ts';
import { brainAndBranch, CommitId, leaseGuard } from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import { sync as syncBranch } from '../operations/sync.ts';
import { resolveWrite, settled, CHANGE_RAISES, COMMIT_REFUSES } from './target.ts';

/** What came of one branch. */
export const syncShown = {
  brain: z.string(),
  branch: z.string(),
  remote: z.string(),
  direction: z.enum(['push', 'pull', 'both', 'rebase']),
  status: z
    .string()
    .describe(
      'up-to-date (nothing moved), fast-forward, merged, merged-with-conflicts or pushed; of both, what was pulled.',
    ),
  before: CommitId,
  after: CommitId,
  remoteCommit: CommitId.nullable(),
  pulled: z.strictObject({ added: z.int(), updated: z.int(), deleted: z.int() }),
  pushed: z.int().describe('Commits.'),
  conflicts: z.array(
    z.strictObject({
      id: z.string(),
      file: z.string(),
      kind: z.string(),
      ours: z.string().nullable(),
      theirs: z.string().nullable(),
    }),
  ),
  rescue: z.string().nullable().describe('Reads with at: rescue/<this>/ours and .../theirs.'),
  rewritten: z
    .boolean()
    .describe('The remote took commits out of its history; rescue/<rescue>/theirs is where it was before.'),
  uncommittedLeft: z.int().describe('Files that differ from the last commit and so stay here; svc_commit takes them.'),
};

export const RemoteName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'must be 1-32 letters, digits, underscores or dashes');

const sync = defineTool({
  name: 'svc_sync',
  area: 'core',
  description: "Syncs a branch with the brain's remote: pull, push, or (default) pull and then push.",
  input: z.strictObject({
    direction: z.enum(['push', 'pull']).optional().describe('Default: pull, then push.'),
    remote: RemoteName.optional().describe('Name of the remote, default origin.'),
    ...leaseGuard,
    ...brainAndBranch,
  }),
  output: z.strictObject({
    synced: z.literal(true),
    ...syncShown,
  }),
  access: 'identified',
  effect: 'external',
  refuses: [
    ...COMMIT_REFUSES,
    'E_NOT_CONFIGURED',
    'E_REMOTE_UNREACHABLE',
    'E_REMOTE_TLS',
    'E_REMOTE_AUTH',
    'E_REMOTE_ABSENT',
    'E_REMOTE_REJECTED',
    'E_REMOTE_FULL',
    'E_REMOTE_CORRUPT',
    'E_REMOTE_RACE',
    'E_UNDER_WAY',
  ],
  raises: CHANGE_RAISES,
  dress: { synced: false },
  deadlineMs: 120_000,
  async handler({ direction, remote, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const op = {
      branch,
      direction: direction ?? ('both' as const),
      remote: remote ?? null,
    };
    const { conflicts, ...outcome } = context.take(
      neverDenied(settled(context, await ask(syncBranch, op)), 'E_SYNC_CONFLICT'),
    );
    return { synced: true as const, brain, ...outcome, pulled: { ...outcome.pulled }, conflicts: [...conflicts] };
  },
});

export const syncTools = [sync];
