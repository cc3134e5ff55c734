/** Part of a blob that is too large to be in memory as a whole: git writes it out, and what is not wanted is let go on the way. */
import type { Repository } from './repository.ts';
import { objectId, type OutputPiece } from './run.ts';

/** Each costs a git that unpacks the blob up to the end of the piece: of all repositories so many run at a time. */
const AT_ONCE = 2;
let running = 0;
const waiting: (() => void)[] = [];

/** Throws GitError, also when the repository does not have the blob. */
export async function readBlobPiece(repository: Repository, oid: string, piece: OutputPiece): Promise<Buffer> {
  if (running === AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    const { stdout } = await repository.git.run({
      args: ['cat-file', 'blob', objectId(oid)],
      gitDir: repository.gitDir,
      // what is larger git unpacks as a stream, where it is not stored as a difference
      config: ['core.bigFileThreshold=1m'],
      piece,
    });
    return stdout;
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
