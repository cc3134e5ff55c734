/** What is known of a brain's remote without asking it. */
import type { RowView } from '../ports.ts';
import { unreadableEver } from './island-past.ts';
import { countDivergence, readHead, readRef } from '../git/refs.ts';
import { type Remote, trackingRef } from '../git/remote.ts';
import type { OpenBrain } from './open-brain.ts';
import { DEFAULT_REMOTE } from './remotes.ts';

/** Commits of one side that the other lacks; null = not known, or not to be told. */
interface Divergence {
  readonly ahead: number | null;
  readonly behind: number | null;
}

const UNKNOWN: Divergence = { ahead: null, behind: null };

/**
 * Against the default remote as last fetched, for one subject: were some of the commits hidden from it, their number would
 * tell that they are there. Nulls without a remote or before the first fetch.
 */
export async function divergenceFor(
  brain: OpenBrain,
  rows: RowView,
): Promise<(branch: string, head: string) => Promise<Divergence>> {
  return divergenceFrom(brain, await defaultRemote(brain), rows);
}

function defaultRemote(brain: OpenBrain): Promise<Remote | null> {
  return brain.sync.remoteFor(brain.context.name, DEFAULT_REMOTE);
}

async function divergenceFrom(
  { context: { repository, islands } }: OpenBrain,
  remote: Remote | null,
  rows: RowView,
): Promise<(branch: string, head: string) => Promise<Divergence>> {
  if (remote === null || (await unreadableEver(islands, rows)).length > 0) return async () => UNKNOWN;
  return async (branch, head) => {
    const theirs = await readRef(repository, trackingRef(remote, branch));
    return theirs === null ? UNKNOWN : countDivergence(repository, head, theirs);
  };
}

export async function remoteState(brain: OpenBrain, rows: RowView): Promise<Divergence & { configured: boolean }> {
  const remote = await defaultRemote(brain);
  const head = await readHead(brain.context.repository, 'main');
  const divergence = await divergenceFrom(brain, remote, rows);
  return { configured: remote !== null, ...(head === null ? UNKNOWN : await divergence('main', head)) };
}
