/** What comes of a sync of one branch. */
import { z } from 'zod';
import { REMOTE_CODES } from '../git/remote-error.ts';
import { Pulled } from '../brain/pulled.ts';
import { COMMIT_REFUSALS } from '../brain/open-brain.ts';

export const SyncOutcome = Pulled.extend({
  branch: z.string(),
  remote: z.string(),
  direction: z.enum(['push', 'pull', 'both', 'rebase']),
  remoteCommit: z.string().nullable(),
  pushed: z.number(),
  /** The remote took commits out of its history since the last fetch; `rescue` has where it was. */
  rewritten: z.boolean(),
  /** Readable files that differ from the last commit and so stay here. */
  uncommittedLeft: z.number(),
});
export type SyncOutcome = z.output<typeof SyncOutcome>;

export const SYNC_REFUSALS = [
  ...COMMIT_REFUSALS,
  ...Object.values(REMOTE_CODES),
  'E_NOT_CONFIGURED',
  'E_REMOTE_RACE',
  'E_UNDER_WAY',
  'E_SYNC_CONFLICT',
] as const;
export type SyncRefusal = (typeof SYNC_REFUSALS)[number];

/** Up to date only when nothing moved in either direction. */
export function bothWays(pulled: SyncOutcome, pushed: SyncOutcome): SyncOutcome {
  const strongest = [pulled, pushed].find(({ status }) => status !== 'up-to-date') ?? pushed;
  const { added, updated, deleted } = pushed.pulled;
  return {
    ...pushed,
    direction: 'both',
    status: strongest.status,
    before: pulled.before,
    pulled: {
      added: pulled.pulled.added + added,
      updated: pulled.pulled.updated + updated,
      deleted: pulled.pulled.deleted + deleted,
    },
    conflicts: [...pulled.conflicts, ...pushed.conflicts],
    rescue: pushed.rescue ?? pulled.rescue,
    rewritten: pulled.rewritten || pushed.rewritten,
  };
}

export const NOTHING_PULLED = {
  status: 'up-to-date',
  conflicts: [],
  rescue: null,
  pulled: { added: 0, updated: 0, deleted: 0 },
};
