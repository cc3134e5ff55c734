/** What a node here needs: programs, settings, a directory with room. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ConfigProblem, readConfig } from '@svc/runtime/config.ts';
import { liveHolder, sharerLocks } from '@svc/runtime/data-lock.ts';
import type { Surroundings } from '../surroundings.ts';
import { type Finding, fail, look, ok } from './finding.ts';

const MIB = 1024 * 1024;
/** A new node does not start below that; see deploy/data-directory.ts. */
const NEEDED_MIB = 80;
const ROOMY_MIB = 1024;

type Env = Surroundings['env'];

export async function examineMachine({ env, cwd, version }: Surroundings): Promise<Finding[]> {
  const installation = ok('installation', `brain-service ${version}, Node ${process.version}`);
  return [
    installation,
    await git(env),
    ...settings(env),
    ...dataDirectory(resolve(cwd, env['SVC_DATA_DIR'] || './data')),
  ];
}

async function git(env: Env): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { env: { ...env }, timeout: 5000 });
    return ok('git', stdout.trim());
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return fail(
      'git',
      absent ? 'is not installed, or not in PATH' : `does not work: ${(error as Error).message}`,
      'Install it: apt install git, dnf install git, brew install git or https://git-scm.com/downloads',
    );
  }
}

function settings(env: Env): Finding[] {
  try {
    const { warnings } = readConfig(env, (path) => readFileSync(path, 'utf8'));
    if (warnings.length === 0) return [ok('settings', 'every SVC_ variable is known and fits')];
    return warnings.map((warning) =>
      look('settings', warning, 'Correct its name or take it away; docs/config.md has all.'),
    );
  } catch (error) {
    if (!(error instanceof ConfigProblem)) throw error;
    return [
      fail('settings', error.message, 'A node does not start so; docs/config.md tells what each variable takes.'),
    ];
  }
}

function dataDirectory(path: string): Finding[] {
  const there = parentOf(path);
  if (!statSync(there).isDirectory())
    return [fail('data', `${there} is no directory`, 'Move it away, or set SVC_DATA_DIR to another path.')];
  try {
    accessSync(there, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [notWritable(there, (error as NodeJS.ErrnoException).code)];
  }
  if (there !== path) return [ok('data', `${path} is made when a node starts here`), disk(there)];
  return [ok('data', `${path}, ${useOf(path)}`), disk(path)];
}

function useOf(path: string): string {
  const holder = liveHolder(join(path, 'service.lock'));
  if (holder !== null) return `in use by process ${holder}`;
  const sharers = sharerLocks(path).flatMap((lock) => lock.holder ?? []);
  return sharers.length === 0 ? 'no node uses it now' : `shared by processes of a cluster: ${sharers.join(', ')}`;
}

function notWritable(path: string, code: string | undefined): Finding {
  if (code === 'EROFS')
    return fail('data', `${path} is on a read-only disk`, 'Mount it for writing, or set SVC_DATA_DIR to another path.');
  return fail('data', `${path} is not yours to write in`, `Own it (chown -R "$USER" ${path}), or set SVC_DATA_DIR.`);
}

/** The path itself, or what is there of it. */
function parentOf(path: string): string {
  let there = path;
  while (!existsSync(there)) there = dirname(there);
  return there;
}

function disk(path: string): Finding {
  const { bavail, bsize } = statfsSync(path);
  const free = Math.floor((bavail * bsize) / MIB);
  const found = `${free} MiB free at ${path}`;
  const mend = 'Make room, or set SVC_DATA_DIR to a larger disk.';
  if (free < NEEDED_MIB) return fail('disk', `${found}, and a new node needs ${NEEDED_MIB}`, mend);
  return free < ROOMY_MIB ? look('disk', found, mend) : ok('disk', found);
}
