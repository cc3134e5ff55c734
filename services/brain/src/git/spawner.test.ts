import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeTestBed } from '../../testing/git-test-bed.ts';
import { Spawner, type Task } from './spawner.ts';

const task = (...args: string[]): Task => ({
  args,
  cwd: '/',
  env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  stdin: '',
  timeoutMs: 60_000,
  maxOutputBytes: 1024,
  maxErrorBytes: 1024,
});

/** Ids of processes whose command line has all of these words. */
function processesWith(...words: string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => words.every((word) => tryRead(`/proc/${name}/cmdline`).includes(word)))
    .map(Number);
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it ended meanwhile
  }
}

const parentOf = (pid: number): number => Number(/^PPid:\s+(\d+)/m.exec(tryRead(`/proc/${pid}/status`))?.[1]);
const ownHelpers = (): number[] => processesWith('spawner.main.ts').filter((pid) => parentOf(pid) === process.pid);

describe.skipIf(!existsSync('/proc/self/status'))('the process that starts git', () => {
  it('is started again when somebody killed it, and what it had in hand is told as lost', async () => {
    const spawner = new Spawner();
    const before = new Set(ownHelpers());
    expect(await spawner.run(task('version'))).toMatchObject({ exitCode: 0, stopped: null });
    const [helper = 0] = ownHelpers().filter((pid) => !before.has(pid));
    const waiting = spawner.run(task('-c', 'alias.wait=!sleep 10', 'wait'));
    const closed = Promise.withResolvers<undefined>();
    const dialogue = spawner.open(task('-c', 'alias.wait=!sleep 10', 'wait'), {
      output: () => undefined,
      closed: () => closed.resolve(undefined),
    });
    process.kill(helper, 'SIGKILL');
    expect(await waiting).toEqual({ notStarted: 'the process that starts git ended' });
    await closed.promise;
    dialogue.write('to nobody\n');
    dialogue.kill();
    expect(await spawner.run(task('version'))).toMatchObject({ exitCode: 0 });
  });

  it('goes on when a git cannot be started, with what it has in hand', async () => {
    const spawner = new Spawner();
    const waiting = spawner.run(task('-c', 'alias.wait=!sleep 1', 'wait'));
    const tooLong = await spawner.run(task('x'.repeat(200_000)));
    expect(tooLong).toEqual({ notStarted: expect.stringContaining('E2BIG') });
    expect(await spawner.run({ ...task('version'), cwd: '/no/such/folder' })).toHaveProperty('notStarted');
    for (const program of [task('x'.repeat(200_000)), { ...task('version'), cwd: '/no/such/folder' }]) {
      await new Promise<void>((resolve) => spawner.open(program, { output: () => undefined, closed: resolve }));
    }
    expect(await waiting).toMatchObject({ exitCode: 0 });
  });

  it('waits for what git itself is at work on, and not for a remote that is silent', async () => {
    const spawner = new Spawner();
    const after = (line: string, { work, silenceMs } = { work: 'sleep 1', silenceMs: 300 }) => {
      const alias = `alias.wait=!printf '${line}\\r' >&2; ${work}`;
      return spawner.run({ ...task('-c', alias, 'wait'), silenceMs });
    };
    // a machine that has much else to do says nothing for a while too
    const wordless = {
      work: 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.2; echo; done | cat >/dev/null',
      silenceMs: 1500,
    };
    const [own, remote, sent, alive] = await Promise.all([
      after('Compressing objects:  10%% (1/10)'),
      after('remote: Compressing objects:  10%% (1/10)'),
      after('Writing objects:  10%% (1/10)'),
      after('remote: Compressing objects: 100%% (3/3), done.', wordless),
    ]);
    expect(own).toMatchObject({ exitCode: 0, stopped: null });
    expect(remote).toMatchObject({ stopped: 'silence' });
    expect(sent).toMatchObject({ stopped: 'silence' });
    expect(alive, 'what it reads is not told').toMatchObject({ exitCode: 0, stopped: null });
  });

  it('takes every git along when the process it works for is killed', async () => {
    await using bed = await makeTestBed();
    const cwd = bed.repository.dir;
    const script = join(import.meta.dirname, '..', '..', 'testing', 'spawner.fixture.ts');
    const owner = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, cwd], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(owner.stdout, 'data');
    const gits = () =>
      processesWith('git', 'cat-file').filter((pid) => {
        try {
          return readlinkSync(`/proc/${pid}/cwd`) === cwd;
        } catch {
          return false;
        }
      });
    expect(gits()).toHaveLength(1);
    owner.kill('SIGKILL');
    await expect.poll(gits).toEqual([]);
  });
});
