/** Puts the repository of a brain in order before it is served, and says why one cannot be. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { RepeatedTrouble } from '@svc/runtime/repeated-trouble.ts';
import { TEMP_PREFIX } from '../files/staged-contents.ts';
import { findDamage, type Fsck, repairRepository } from '../git/boot-repair.ts';
import { oddFileOfGit } from '../git/odd-file.ts';
import { openRepository, type Repository, RepositoryProblem } from '../git/repository.ts';
import type { Git } from '../git/run.ts';
import { pruneWorktrees, relinkWorktrees } from '../git/worktrees.ts';
import type { Counters } from '../writer/counters.ts';

export interface OpeningTools {
  readonly git: Git;
  readonly counters: Counters;
  readonly platform: Pick<Platform, 'log'>;
  readonly dataDir: string;
  /** Each call tries again, and health asks every brain; the log is told now and then. */
  readonly trouble: RepeatedTrouble;
  readonly fsck: Fsck;
}

interface BrainPlace {
  readonly name: string;
  /** Its repository with the working tree of `main`. */
  readonly folder: string;
  /** Where its other working trees lie. */
  readonly worktrees: string;
}

const MAX_REASON = 300;

/** Throws BRAIN_LOAD_FAIL: 404 when there is no such folder, else 503 with the reason. */
export async function openBrainRepository(
  tools: OpeningTools,
  { name, folder, worktrees }: BrainPlace,
): Promise<Repository> {
  try {
    const repository = await openRepository(tools.git, folder);
    await relinkWorktrees(repository, worktrees);
    await pruneWorktrees(repository);
    const { removedLocks, tornIndexes, damage } = await repairRepository(repository, tools.fsck);
    tools.counters.mutex.takeovers += removedLocks.length;
    if (tornIndexes.length > 0) tools.platform.log.warn({ brain: name, tornIndexes }, 'torn indexes of git went');
    if (damage !== null) throw new RepositoryProblem('damaged', damage);
    await removeLeftovers(repository.dir);
    await removeLeftovers(worktrees);
    return repository;
  } catch (error) {
    const problem = problemIn(error);
    throw problem === null ? error : cannotLoad(tools, name, problem);
  }
}

/** What is wrong with a repository that is open, as the error of whoever calls; null = nothing. */
export async function damageOf(tools: OpeningTools, name: string, repository: Repository): Promise<CallError | null> {
  const damage = await findDamage(repository, 'heads', tools.fsck).catch(
    (error: unknown) => problemIn(error)?.message ?? String(error),
  );
  return damage === null ? null : cannotLoad(tools, name, new RepositoryProblem('damaged', damage));
}

function problemIn(error: unknown): RepositoryProblem | null {
  if (error instanceof RepositoryProblem) return error;
  const odd = oddFileOfGit(error);
  return odd === null ? null : new RepositoryProblem('damaged', odd);
}

/** What callers hear of it; the log is told now and then. */
export function cannotLoad(tools: OpeningTools, name: string, problem: RepositoryProblem): CallError {
  const { platform, dataDir, trouble } = tools;
  const reason = toldReason(problem.message, dataDir);
  if (trouble.isDue(`${name} ${reason}`))
    platform.log.error({ brain: name, reason: problem.reason, err: problem }, 'a brain cannot be opened');
  if (problem.reason === 'absent') return new CallError('BRAIN_LOAD_FAIL');
  return brainLoadFailure(reason);
}

const ABSOLUTE_PATH = /(?<=^|[\s'"(=])\/(?:[^\s'"/]+\/)*([^\s'"/]+)/g;

/** Its first line, for whoever may open the brain: where the machine keeps what is nobody's business who calls. */
export function toldReason(message: string, dataDir: string): string {
  const [line = ''] = message.split('\n');
  return line.replaceAll(`${dataDir}/`, '').replaceAll(ABSOLUTE_PATH, '…/$1').slice(0, MAX_REASON);
}

/** Of a brain, or a branch of it, that is there and damaged. */
export function brainLoadFailure(reason: string): CallError {
  return new CallError('BRAIN_LOAD_FAIL', `Failed to load brain: ${reason}`, {}, 503);
}

/** Temp files of a killed process. */
async function removeLeftovers(directory: string): Promise<void> {
  const children = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const child of children) {
    if (child.name === '.git') continue;
    const path = join(directory, child.name);
    if (child.isDirectory()) await removeLeftovers(path);
    else if (child.name.startsWith(TEMP_PREFIX)) await rm(path, { force: true });
  }
}
