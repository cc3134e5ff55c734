/** Fetches, and keeps what the remote took out of its own history. */
import { type RefMove, moveRefs, readHeads, rescueStamp } from './refs.ts';
import { RemoteError } from './remote-error.ts';
import { fetchRemote, readRemoteHeads, type Remote, trackingRef } from './remote.ts';
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';
import type { TransferWatch } from './spawner.ts';

interface FetchWish {
  readonly at: Date;
  /** 8 random hex digits, new each time. */
  readonly suffix: () => string;
  readonly watch: TransferWatch;
}

/**
 * Branch -> rescue id of each branch whose history was rewritten at the remote: `theirs` is where the remote was before,
 * `ours` where the branch of that name is here. Throws RemoteError, DiskRefusal.
 */
export async function fetchKeeping(
  repository: Repository,
  remote: Remote,
  { at, suffix, watch }: FetchWish,
): Promise<Map<string, string>> {
  const before = await readRemoteHeads(repository, remote);
  try {
    await fetchRemote(repository, remote, watch);
  } catch (error) {
    if (error instanceof RemoteError) await putBack(repository, remote, before, at);
    throw error;
  }
  const after = await readRemoteHeads(repository, remote);
  const rewritten = new Map<string, string>();
  for (const [branch, tip] of before) {
    const next = after.get(branch);
    if (next === undefined || next === tip || (await isAncestor(repository, tip, next))) continue;
    rewritten.set(branch, `${rescueStamp(at)}-${suffix()}`);
  }
  if (rewritten.size > 0) await keep(repository, rewritten, before, at);
  return rewritten;
}

/** Git forgets where the remote was before it finds that what answers is no repository, or one of another format. */
async function putBack(
  repository: Repository,
  remote: Remote,
  before: ReadonlyMap<string, string>,
  at: Date,
): Promise<void> {
  const left = await readRemoteHeads(repository, remote);
  const gone = [...before].filter(([branch]) => !left.has(branch));
  const moves = gone.map(([branch, to]) => ({ ref: trackingRef(remote, branch), to, from: null }));
  if (moves.length > 0) await moveRefs(repository, moves, at);
}

async function keep(
  repository: Repository,
  rewritten: ReadonlyMap<string, string>,
  before: ReadonlyMap<string, string>,
  at: Date,
): Promise<void> {
  const heads = await readHeads(repository);
  const moves = [...rewritten].flatMap(([branch, rescue]): RefMove[] =>
    [
      { ref: `refs/rescue/${rescue}/theirs`, to: before.get(branch) ?? null, from: null },
      { ref: `refs/rescue/${rescue}/ours`, to: heads.get(branch) ?? null, from: null },
    ].filter(({ to }) => to !== null),
  );
  await moveRefs(repository, moves, at);
}

async function isAncestor(repository: Repository, older: string, newer: string): Promise<boolean> {
  const { exitCode } = await repository.git.run({
    args: ['merge-base', '--is-ancestor', objectId(older), objectId(newer)],
    gitDir: repository.gitDir,
    answers: [0, 1],
  });
  return exitCode === 0;
}
