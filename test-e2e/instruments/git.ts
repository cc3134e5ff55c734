/** Git as a person uses it: no system or home configuration, an identity of its own. */
import { execFileSync } from 'node:child_process';

export const PERSON_ENVIRONMENT = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Person',
  GIT_AUTHOR_EMAIL: 'person@example.org',
  GIT_COMMITTER_NAME: 'Person',
  GIT_COMMITTER_EMAIL: 'person@example.org',
};

/** Output without its last line end; throws with git's own words. */
export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', [...args], {
    cwd: folder,
    env: PERSON_ENVIRONMENT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd();
}

/** Throws unless the object store is whole. */
export function assertSound(folder: string): void {
  const complaints = git(folder, 'fsck', '--strict', '--no-dangling', '--full')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('notice:'));
  if (complaints.length > 0) throw new Error(`git fsck in ${folder}:\n${complaints.join('\n')}`);
}

/** Paths in the tree of a commit. */
export function filesAt(folder: string, ref: string): string[] {
  const text = git(folder, 'ls-tree', '-r', '--name-only', '-z', ref);
  return text.split('\0').filter((path) => path !== '');
}

/** True when no commit of the branch has two parents. */
export function isLinear(folder: string, ref: string): boolean {
  return git(folder, 'rev-list', '--merges', ref) === '';
}
