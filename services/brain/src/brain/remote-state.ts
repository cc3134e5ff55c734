/** What is known of a brain's remote without asking it. */
import type { RowView } from '../ports.ts';
import { unreadableEver } from './island-past.ts';
import { countDivergence, readHead, readRef } from '../git/refs.ts';
import { trackingRef } from '../git/remote.ts';
import type { OpenBrain } from './open-brain.ts';
import { DEFAULT_REMOTE } from './remotes.ts';

/** Commits of one side that the other lacks; null = not known, or not to be told. */
interface Divergence {
  readonly ahead: number | null;
  readonly behind: number | null;
}

const UNKNOWN: Divergence = { ahead: null, behind: null };

/** Against the default remote as last fetched; nulls without a remote or before the first fetch. */
async function remoteDivergence(brain: OpenBrain, branch: string, head: string): Promise<Divergence> {
  const remote = brain.sync.remoteFor(brain.context.name, DEFAULT_REMOTE);
  if (remote === null) return UNKNOWN;
  const theirs = await readRef(brain.context.repository, trackingRef(remote, branch));
  return theirs === null ? UNKNOWN : countDivergence(brain.context.repository, head, theirs);
}

/** The same for one subject: were some of the commits hidden from it, their number would tell that they are there. */
export async function divergenceFor(
  brain: OpenBrain,
  rows: RowView,
): Promise<(branch: string, head: string) => Promise<Divergence>> {
  const unreadable = await unreadableEver(brain.context.islands, rows);
  return async (branch, head) => (unreadable.length > 0 ? UNKNOWN : remoteDivergence(brain, branch, head));
}

export async function remoteState(brain: OpenBrain, rows: RowView): Promise<Divergence & { configured: boolean }> {
  const configured = brain.sync.remoteFor(brain.context.name, DEFAULT_REMOTE) !== null;
  const head = await readHead(brain.context.repository, 'main');
  const divergence = await divergenceFor(brain, rows);
  return { configured, ...(head === null ? UNKNOWN : await divergence('main', head)) };
}
