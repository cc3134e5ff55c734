/** Branch heads and other references: read, resolve, move by compare-and-swap. */
import { type BigIntStats, statSync } from 'node:fs';
import { join } from 'node:path';
import { branchNameProblem, foldCase } from '@svc/contract/names.ts';
import { CLOCK_STEP_MS, fileStamp } from '../files/file-stamp.ts';
import { fsyncParents, NoPlainFile, readTextIfPresent } from '../files/fsync.ts';
import { BrokenBranch, commitsAmong } from './broken-branch.ts';
import { withJournal } from './journal.ts';
import { readPackedRef, readRefFiles } from './ref-files.ts';
import { moveLooseRef } from './loose-ref.ts';
import { noteOwnMove } from './own-moves.ts';
import { gitDate, gitTimeMs } from './commit-object.ts';
import type { Repository } from './repository.ts';
import { branchRef, GitError, isObjectId, objectId, refName } from './run.ts';

const NO_OBJECT = '0'.repeat(40);

interface Branches {
  /** Branch name -> commit id. */
  readonly heads: Map<string, string>;
  /** Names of broken branches, in order. */
  readonly broken: readonly string[];
}

export async function readBranches(repository: Repository): Promise<Branches> {
  const all = [...(await readRefs(repository, 'refs/heads/'))];
  const commits = await commitsAmong(
    repository,
    all.map(([, oid]) => oid),
  );
  const heads = new Map(all.filter(([, oid]) => commits.has(oid)));
  const broken = all.map(([branch]) => branch).filter((branch) => !heads.has(branch));
  return { heads, broken: broken.sort() };
}

/** Branch name -> commit id, but for broken branches. */
export async function readHeads(repository: Repository): Promise<Map<string, string>> {
  return (await readBranches(repository)).heads;
}

/** References below `prefix` (without it) -> object id. */
export async function readRefs(repository: Repository, prefix: string): Promise<Map<string, string>> {
  const read = await readRefFiles(repository.gitDir, prefix);
  if (read !== null) return new Map(Array.from(read, ([name, oid]) => [name.slice(prefix.length), oid]));
  const { stdout } = await repository.git.run({
    args: ['for-each-ref', '--format=%(objectname) %(refname)', prefix],
    gitDir: repository.gitDir,
  });
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => [line.slice(41 + prefix.length), line.slice(0, 40)]));
}

/** The commit a full reference name points to, or null. Costs no process, unless its file needs git to be understood. */
export async function readRef(repository: Repository, ref: string): Promise<string | null> {
  const loose = readLooseRef(join(repository.gitDir, refName(ref)));
  if (loose === null) return readPackedRef(repository.gitDir, ref);
  if (isObjectId(loose)) return loose;
  const { exitCode, stdout } = await repository.git.run({
    args: ['show-ref', '--verify', '--hash', '--', ref],
    gitDir: repository.gitDir,
    answers: [0, 1, 128],
  });
  return exitCode === 0 ? stdout.toString('latin1').trim() : null;
}

/** Null = there is no such file. Asked for with reads of files, so it does not go through the thread pool. */
function readLooseRef(path: string): string | null {
  try {
    return readTextIfPresent(path)?.trim() ?? null;
  } catch (error) {
    if (error instanceof NoPlainFile && error.isDirectory) return null;
    throw error;
  }
}

/** Null = there is no such branch. Throws BrokenBranch. */
export async function readHead(repository: Repository, branch: string): Promise<string | null> {
  const head = await readRef(repository, branchRef(branch));
  if (head !== null) await assertCommit(repository, branch, head);
  return head;
}

async function assertCommit(repository: Repository, branch: string, head: string): Promise<void> {
  if ((await commitsAmong(repository, [head])).size === 0) throw new BrokenBranch(branch);
}

/** Whether there is such a branch, broken or not. */
export async function hasBranch(repository: Repository, branch: string): Promise<boolean> {
  return (await readRef(repository, branchRef(branch))) !== null;
}

/** A head and the stamp of its file, taken before it was read; null = it may move without a new stamp. */
interface StampedHead {
  readonly head: string | null;
  readonly stamp: string | null;
}

/** `now`: ms since the epoch. Throws BrokenBranch. */
export async function readStampedHead(repository: Repository, branch: string, now: number): Promise<StampedHead> {
  const path = join(repository.gitDir, branchRef(branch));
  const stat = statOf(path);
  const loose = readLooseRef(path);
  if (loose === null || !isObjectId(loose)) return { head: await readHead(repository, branch), stamp: null };
  await assertCommit(repository, branch, loose);
  const isSettled = stat !== undefined && now - Number(stat.ctimeMs) >= CLOCK_STEP_MS;
  return { head: loose, stamp: isSettled ? fileStamp(stat) : null };
}

/** Whether the head is where it was when it had that stamp: a look at one file, asked for with every read. */
export function isHeadUnmoved(repository: Repository, branch: string, stamp: string): boolean {
  const stat = statOf(join(repository.gitDir, branchRef(branch)));
  return stat !== undefined && fileStamp(stat) === stamp;
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** What of git's own ids (whole, or the beginning of one) hex digits may mean, in the order in which it is looked for. */
export interface IdReadings {
  readings(hex: string): readonly string[];
}

/**
 * The commit that a reading reference names: `rescue/<id>/ours|theirs|branch|work`, a branch, or 4 to 40 hex digits
 * that `names` reads as (the beginning of) exactly one commit id. Null when it names none.
 */
export async function resolveReading(repository: Repository, at: string, names: IdReadings): Promise<string | null> {
  if (/^rescue\/\d{8}T\d{6}Z-[0-9a-f]{8}\/(?:ours|theirs|branch|work)$/.test(at))
    return readRef(repository, `refs/${at}`);
  if (branchNameProblem(at) === null) {
    const head = await readHead(repository, at);
    if (head !== null) return head;
  }
  return resolveCommit(repository, at, names);
}

/** The commit that 4 to 40 hex digits name, or null. */
export async function resolveCommit(repository: Repository, text: string, names: IdReadings): Promise<string | null> {
  if (!/^[0-9a-f]{4,40}$/i.test(text)) return null;
  for (const hex of names.readings(text.toLowerCase())) {
    const commit = await resolveHex(repository, hex);
    if (commit !== null) return commit;
  }
  return null;
}

async function resolveHex(repository: Repository, hex: string): Promise<string | null> {
  const { git, gitDir } = repository;
  const candidates = isObjectId(hex)
    ? { stdout: `${hex}\n` }
    : await git.run({ args: ['rev-parse', `--disambiguate=${hex}`], gitDir });
  const types = await git.run({
    args: ['cat-file', '--batch-check=%(objecttype) %(objectname)'],
    gitDir,
    stdin: candidates.stdout,
  });
  const commits = types.stdout
    .toString('latin1')
    .split('\n')
    .filter((line) => line.startsWith('commit '));
  return commits.length === 1 ? (commits[0]?.slice('commit '.length) ?? null) : null;
}

export interface RefMove {
  readonly ref: string;
  /** Null deletes the reference. */
  readonly to: string | null;
  /** What it must point to now; null: it must not exist. */
  readonly from: string | null;
}

/**
 * Moves all references or none, durably. False when one of them was not where the caller expected it, or its name
 * collides with another (`a` beside `a/b`). Throws GitError on anything else.
 */
export async function moveRefs(repository: Repository, moves: readonly RefMove[], at: Date): Promise<boolean> {
  const refs = moves.map(({ ref }) => refName(ref));
  for (const { to } of moves) if (to !== null) noteOwnMove(repository, objectId(to));
  await repository.objectDirectories.fsyncChanged();
  const isMoved = (await moveSimply(repository, moves, at)) ?? (await moveByGit(repository, moves, at));
  if (!isMoved) return false;
  for (const ref of refs) await fsyncParents(join(repository.gitDir, ref), join(repository.gitDir, 'refs'));
  return true;
}

/** Null when it is not one branch that goes from one commit to another. */
async function moveSimply(repository: Repository, moves: readonly RefMove[], at: Date): Promise<boolean | null> {
  const [move, ...others] = moves;
  if (move === undefined || others.length > 0 || move.to === null || move.from === null) return null;
  return moveLooseRef(repository, { ref: move.ref, from: move.from, to: move.to, at });
}

async function moveByGit(repository: Repository, moves: readonly RefMove[], at: Date): Promise<boolean> {
  const commands = moves.map(({ ref, to, from }) =>
    to === null
      ? `delete ${refName(ref)}\0${objectId(from ?? '')}\0`
      : `update ${refName(ref)}\0${objectId(to)}\0${from === null ? NO_OBJECT : objectId(from)}\0`,
  );
  const refs = moves.map(({ ref }) => ref);
  try {
    await withJournal(repository, refs, () =>
      repository.git.run({
        args: ['update-ref', '-m', 'svc', '--stdin', '-z'],
        gitDir: repository.gitDir,
        stdin: `start\0${commands.join('')}prepare\0commit\0`,
        env: { GIT_COMMITTER_DATE: gitDate(at) },
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof GitError && isRefusedMove(error)) return false;
    throw error;
  }
}

function isRefusedMove(error: GitError): boolean {
  return /is at [0-9a-f]+ but expected|reference already exists|unable to resolve reference|exists; cannot create|cannot process '.*' and '.*' at the same time|there are still refs under/.test(
    error.stderr,
  );
}

/** Whether a branch with another name than `except` is `name`, but for case, or would be above or below it. */
export async function isNameTaken(repository: Repository, name: string, except: string | null): Promise<boolean> {
  const folded = foldCase(name);
  return [...(await readRefs(repository, 'refs/heads/')).keys()].some((other) => {
    const existing = foldCase(other);
    const isNear = existing === folded || existing.startsWith(`${folded}/`) || folded.startsWith(`${existing}/`);
    return isNear && other !== except;
  });
}

type BranchCreation = 'created' | 'exists';

/** `exists` also when the name is taken by another branch. */
export async function createBranch(
  repository: Repository,
  { branch, commit, at }: { branch: string; commit: string; at: Date },
): Promise<BranchCreation> {
  if (await isNameTaken(repository, branch, null)) return 'exists';
  const created = await moveRefs(repository, [{ ref: branchRef(branch), to: commit, from: null }], at);
  return created ? 'created' : 'exists';
}

/** How many commits each side has that the other has not. */
export async function countDivergence(
  repository: Repository,
  ours: string,
  theirs: string,
): Promise<{ ahead: number; behind: number }> {
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--left-right', '--count', `${objectId(ours)}...${objectId(theirs)}`, '--'],
    gitDir: repository.gitDir,
  });
  const [ahead = 0, behind = 0] = stdout.toString('latin1').trim().split('\t').map(Number);
  return { ahead, behind };
}

/** Deletes rescue references made before `before`; answers how many. Their ids begin with the time they were made. */
export async function expireRescues(repository: Repository, before: Date, at: Date): Promise<number> {
  const stamp = rescueStamp(before);
  const old = [...(await readRefs(repository, 'refs/rescue/'))].filter(([name]) => name < stamp);
  const moves = old.map(([name, commit]) => ({ ref: `refs/rescue/${name}`, to: null, from: commit }));
  return moves.length > 0 && (await moveRefs(repository, moves, at)) ? moves.length : 0;
}

/** The time part of a rescue id, sortable: `20260102T030405Z`. */
export function rescueStamp(at: Date): string {
  return at.toISOString().replace(/[-:]|\.\d+/g, '');
}

/** Commit id -> when it was made, ms since the epoch. */
export async function readCommitTimes(repository: Repository, commits: Iterable<string>): Promise<Map<string, number>> {
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--no-walk=unsorted', '--timestamp', '--stdin'],
    gitDir: repository.gitDir,
    stdin: Array.from(commits, (commit) => `${objectId(commit)}\n`).join(''),
  });
  const lines = stdout.toString('latin1').split('\n').filter(Boolean);
  return new Map(
    lines.map((line) => {
      const [seconds = '0', commit = ''] = line.split(' ');
      return [commit, gitTimeMs(seconds)];
    }),
  );
}
