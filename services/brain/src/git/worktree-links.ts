/**
 * How a repository and its linked working trees know of each other (gitrepository-layout(5), `worktrees`). We make such
 * a link ourselves: `git worktree add` lets every other git see it half made meanwhile, and those that look at all
 * working trees die of it ("failed to read .../commondir").
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isAbsent, isDirectory, isOccupied, isPresent, readTextIfPresent } from '../files/fsync.ts';
import { makeFolder } from '../files/make-folder.ts';
import { scratchPath } from './journal.ts';
import { readHead } from './refs.ts';
import { type Repository, RepositoryProblem } from './repository.ts';
import { branchRef } from './run.ts';

/** A person has the branch in hand in another working tree. */
export class CheckedOutElsewhere extends Error {}

/**
 * Links the directory `dir`, which it makes, to the repository as the working tree of `branch`, without any files. Not
 * durable before its files are. Throws CheckedOutElsewhere, RepositoryProblem when there is no such branch.
 */
export async function linkWorktree(repository: Repository, dir: string, branch: string): Promise<void> {
  if ((await readHead(repository, branch)) === null) throw new RepositoryProblem('absent', 'no such branch');
  if (isInUseElsewhere(repository, branch, dir)) throw new CheckedOutElsewhere(branch);
  const links = linksOf(repository);
  const staged = await scratchPath(repository, 'link');
  await mkdir(staged);
  try {
    for (const [file, text] of [
      ['HEAD', `ref: ${branchRef(branch)}`],
      ['commondir', '../..'],
      ['gitdir', join(dir, '.git')],
    ] as const) {
      await writeFile(join(staged, file), `${text}\n`);
    }
    makeFolder(dir);
    for (let attempt = 0; ; attempt += 1) {
      const link = join(links, `${basename(dir)}${attempt === 0 ? '' : attempt}`);
      // First, because a link to no working tree is one that any `git worktree prune` removes.
      await writeFile(join(dir, '.git'), `gitdir: ${link}\n`);
      makeFolder(links);
      if (await moved(staged, link)) return;
    }
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** False when the name is taken, or the last `git worktree prune` has just removed the folder of all links. */
async function moved(staged: string, link: string): Promise<boolean> {
  try {
    await rename(staged, link);
    return true;
  } catch (error) {
    const isFolderGone = isAbsent(error) && existsSync(staged) && !existsSync(dirname(link));
    if (isOccupied(error) || isFolderGone) return false;
    throw error;
  }
}

const MOVING = 'it gets another place';

/** A link whose working tree is not where it says is kept by any `git worktree prune`, also one of a person. */
export async function lockLink(link: string): Promise<void> {
  await writeFile(join(link, 'locked'), MOVING, { flag: 'wx' }).catch((error: unknown) => {
    if (!isPresent(error)) throw error; // a person has locked it
  });
}

/** The working tree lies at `dir` now. */
export async function unlockLink(link: string, dir: string): Promise<void> {
  const moved = join(link, 'gitdir.svc');
  await writeFile(moved, `${join(dir, '.git')}\n`, { flush: true });
  await rename(moved, join(link, 'gitdir'));
  const locked = join(link, 'locked');
  if (readTextIfPresent(locked) === MOVING) await rm(locked, { force: true });
}

/**
 * Points links and the working trees `dirs` at each other after both were moved or copied together. What lies elsewhere
 * is left alone, but for a person's tree whose repository is gone: `git worktree repair` follows the pointers of a copy
 * to the original and takes its trees away from it.
 */
export async function relink(repository: Repository, dirs: readonly string[]): Promise<void> {
  for (const { gitDir: link, place } of placesOf(repository).slice(1)) {
    const named = dirs.find((dir) => basename(dir) === basename(place));
    const isOurs = named !== undefined && (named === place || basename(linkNamedIn(named) ?? '') === basename(link));
    const dir = isOurs ? named : place;
    if (dir !== place) await unlockLink(link, dir);
    const told = linkNamedIn(dir);
    const isRight = isOurs ? told === link : told === null || existsSync(told);
    // A torn one is mended by whoever opens the repository next, because the link tells where its tree is.
    if (!isRight) await writeFile(join(dir, '.git'), `gitdir: ${link}\n`, { flush: true });
  }
}

/** Null = the directory says of no repository that it is a working tree of it. */
function linkNamedIn(dir: string): string | null {
  const pointer = isDirectory(join(dir, '.git')) ? null : readTextIfPresent(join(dir, '.git'));
  return pointer?.startsWith('gitdir: ') ? resolve(dir, pointer.slice('gitdir: '.length).trimEnd()) : null;
}

/** Whether a person works on the branch in another working tree than `own`, which need not exist. */
export function isInUseElsewhere(repository: Repository, branch: string, own: string): boolean {
  const ours = realOf(own);
  return placesOf(repository).some(
    ({ gitDir, place }) => existsSync(place) && realOf(place) !== ours && branchesInHand(gitDir).includes(branch),
  );
}

function realOf(place: string): string {
  return existsSync(place) ? realpathSync(place) : place;
}

/** Every working tree of the repository, with what git keeps of it. */
function placesOf(repository: Repository): { readonly gitDir: string; readonly place: string }[] {
  const main = { gitDir: repository.gitDir, place: repository.dir };
  const links = linksOf(repository);
  if (!existsSync(links)) return [main];
  const linked = readdirSync(links).flatMap((name) => {
    const pointer = readTextIfPresent(join(links, name, 'gitdir'))?.trimEnd();
    // With `worktree.useRelativePaths` it is told from where it stands.
    return pointer === undefined ? [] : [{ gitDir: join(links, name), place: dirname(resolve(links, name, pointer)) }];
  });
  return [main, ...linked];
}

function linksOf({ gitDir }: Repository): string {
  return join(gitDir, 'worktrees');
}

/** The one that is checked out, and one to which a person's rebase or bisect comes back. */
function branchesInHand(gitDir: string): string[] {
  return ['HEAD', 'rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'].flatMap((file) => {
    const told = readTextIfPresent(join(gitDir, file))
      ?.trimEnd()
      .replace(/^ref: /, '');
    if (told === undefined) return [];
    return [told.replace(/^refs\/heads\//, '')];
  });
}
