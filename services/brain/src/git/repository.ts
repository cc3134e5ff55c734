/** A brain's git repository: created whole, opened only when its own configuration is harmless. */
import { chmod, lstat, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BlobReader } from './blob-reader.ts';
import { commitObject, gitDate } from './commit-object.ts';
import { ObjectDirectories } from './durability.ts';
import { writeLooseObjects } from './loose-objects.ts';
import { type GitObject, objectIdOf } from './object-id.ts';
import { fsyncPath, fsyncTree, isAbsent } from '../files/fsync.ts';
import {
  ATTRIBUTES,
  configurationProblem,
  hideDrafts,
  REPOSITORY_CONFIG,
  restoreAttributes,
  writeDurable,
} from './repository-config.ts';
import { layoutProblem } from './repository-layout.ts';
import { type Git, type GitCall, GitError, type Identity } from './run.ts';

export interface Repository extends Disposable {
  /** The working tree of branch `main`. */
  readonly dir: string;
  readonly gitDir: string;
  /** Where our own unfinished work lies; emptied at boot. */
  readonly scratchDir: string;
  readonly git: Git;
  readonly blobs: BlobReader;
  readonly objectDirectories: ObjectDirectories;
}

type ProblemReason = 'absent' | 'configuration' | 'damaged';

/** The directory cannot be served as a repository. */
export class RepositoryProblem extends Error {
  readonly reason: ProblemReason;

  constructor(reason: ProblemReason, message: string) {
    super(message);
    this.name = 'RepositoryProblem';
    this.reason = reason;
  }
}

interface NewRepository {
  readonly dir: string;
  /** Time of the first commit. */
  readonly at: Date;
}

const EMPTY_TREE: GitObject = { type: 'tree', body: new Uint8Array() };
const FIRST_AUTHOR: Identity = { name: 'svc', email: 'svc@localhost' };

/**
 * Makes a repository with branch `main` and one commit of the empty tree. It appears under `dir` whole and durable, or
 * not at all. Throws an EEXIST or ENOTEMPTY error when something is there.
 */
export async function createRepository(git: Git, { dir, at }: NewRepository): Promise<Repository> {
  // its own name, because other processes may be making the same brain at this moment
  const stage = await mkdtemp(join(dirname(dir), `.svc-${basename(dir)}-`));
  try {
    await chmod(stage, 0o755); // people open it too
    await fillStage(git, stage, at);
    await rename(stage, dir);
  } catch (error) {
    await rm(stage, { recursive: true, force: true });
    throw error;
  }
  await fsyncPath(dirname(dir));
  return repositoryAt(git, dir);
}

async function fillStage(git: Git, stage: string, at: Date): Promise<void> {
  const gitDir = join(stage, '.git');
  await git.run({ args: ['init', '--quiet', '--template=', '--initial-branch=main'], gitDir, workTree: stage });
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await writeDurable(join(gitDir, 'info', 'attributes'), ATTRIBUTES, 'w');
  await hideDrafts(gitDir);
  await writeDurable(join(gitDir, 'config'), REPOSITORY_CONFIG, 'a');
  await writeFirstCommit(git, gitDir, at);
  await fsyncTree(stage);
}

async function writeFirstCommit(git: Git, gitDir: string, at: Date): Promise<void> {
  const tree = objectIdOf(EMPTY_TREE);
  const text = 'Empty brain\n';
  const first = commitObject(git.committer, { tree, parents: [], text, author: FIRST_AUTHOR, authoredAt: at, at });
  await writeLooseObjects(join(gitDir, 'objects'), [EMPTY_TREE, first]);
  const env = { GIT_COMMITTER_DATE: gitDate(at) };
  await git.run({ args: ['update-ref', 'refs/heads/main', objectIdOf(first)], gitDir, env });
}

/**
 * Opens an existing repository; restores `info/attributes` when it differs. Throws RepositoryProblem when the directory
 * is no repository, is damaged, or is configured to run programs.
 */
export async function openRepository(git: Git, dir: string): Promise<Repository> {
  const gitDir = join(dir, '.git');
  try {
    if (!(await lstat(gitDir)).isDirectory()) throw new RepositoryProblem('damaged', '.git is not a directory');
    const odd = await layoutProblem(gitDir);
    if (odd !== null) throw new RepositoryProblem('damaged', odd);
    const problem = await configurationProblem(git, gitDir);
    if (problem !== null) throw new RepositoryProblem('configuration', problem);
    await git.run({ args: ['rev-parse', '--git-dir'], gitDir, workTree: dir });
  } catch (error) {
    if (error instanceof GitError) throw new RepositoryProblem('damaged', error.stderr || error.message);
    if (isAbsent(error)) throw await missingIn(dir);
    throw error;
  }
  await restoreAttributes(gitDir);
  // A full disk is no reason not to serve what is there.
  await hideDrafts(gitDir).catch(() => undefined);
  return repositoryAt(git, dir);
}

/** A folder without a repository is a brain that lost it; no folder is no brain. */
async function missingIn(dir: string): Promise<RepositoryProblem> {
  const hasFolder = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return hasFolder
    ? new RepositoryProblem('damaged', 'its folder holds no git repository (.git is missing)')
    : new RepositoryProblem('absent', 'no repository here');
}

function repositoryAt(git: Git, dir: string): Repository {
  const gitDir = join(dir, '.git');
  const blobs = new BlobReader(git, gitDir);
  return {
    dir,
    gitDir,
    scratchDir: join(gitDir, 'svc'),
    git: withoutFilters(git, gitDir),
    blobs,
    objectDirectories: new ObjectDirectories(join(gitDir, 'objects')),
    [Symbol.dispose]: () => blobs[Symbol.dispose](),
  };
}

/** For a git that compares commits: it would read the index too, which it has no use for, and fail where that is damaged. */
export function besideIndex({ gitDir, scratchDir }: Repository): Pick<GitCall, 'gitDir' | 'indexFile'> {
  return { gitDir, indexFile: join(scratchDir, 'no-index') };
}

/**
 * Whatever looks at files of a working tree could run programs that a person has configured since the repository was
 * opened: what forbids it is there again before each of them.
 */
function withoutFilters(git: Git, gitDir: string): Git {
  return {
    ...git,
    async run(call) {
      if (call.workTree !== undefined) await restoreAttributes(gitDir);
      return git.run(call);
    },
  };
}
