/** A process that has a git waiting for questions, says so, and stays. */
import { Spawner } from '../src/git/spawner.ts';

const cwd = process.argv[2] ?? '';
new Spawner()
  .open(
    { args: ['cat-file', '--batch'], cwd, env: { PATH: '/usr/local/bin:/usr/bin:/bin' } },
    { output: () => process.stdout.write('asked\n'), closed: () => process.exit(1) },
  )
  .write('HEAD\n');
