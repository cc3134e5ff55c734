/** A process that commits until it is killed and names each commit once it is durable. */
import { commitChanges } from '../src/git/commits.ts';
import { AT, AUTHOR, mustRead, text } from './git-test-bed.ts';
import { openRepository } from '../src/git/repository.ts';
import { createGit } from '../src/git/run.ts';

const [, , dir = '', round = ''] = process.argv;
const repository = await openRepository(createGit(), dir);
for (let n = 0; ; n += 1) {
  const expectedHead = await mustRead(repository, 'main');
  const changes = [{ path: `kill/${round}-${n}.md`, content: text(`${round} ${n}`) }];
  const request = {
    branch: 'main',
    worktree: repository.dir,
    expectedHead,
    changes,
    message: 'm',
    author: AUTHOR,
    at: AT,
  };
  const result = await commitChanges(repository, request);
  if (result.status === 'committed') process.stdout.write(`${result.commit}\n`);
}
