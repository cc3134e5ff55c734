/** A process that makes one commit on `feat` and says so, for the fsync trace. */
import { commitChanges } from '../src/git/commits.ts';
import { AT, AUTHOR, mustRead, text } from './git-test-bed.ts';
import { openRepository } from '../src/git/repository.ts';
import { createGit } from '../src/git/run.ts';

const repository = await openRepository(createGit(), process.argv[2] ?? '');
const expectedHead = await mustRead(repository, 'feat');
const changes = [{ path: 'x.md', content: text('traced') }];
await commitChanges(repository, {
  branch: 'feat',
  worktree: null,
  expectedHead,
  changes,
  message: 'm',
  author: AUTHOR,
  at: AT,
});
process.stdout.write('answered\n');
repository[Symbol.dispose]();
