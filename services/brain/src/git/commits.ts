/** Making and listing commits: objects are written without starting git, the branch is moved by it. */
import { blobId } from './blob-id.ts';
import { type CommitObject, commitObject, gitTimeMs } from './commit-object.ts';
import { type Attribution, composeMessage, type ParsedMessage, parseMessage } from './commit-message.ts';
import type { IndexEntry } from './index-file.ts';
import { type LockedIndex, lockIndex } from './index-lock.ts';
import { readCached } from './object-cache.ts';
import { objectIdOf } from './object-id.ts';
import { type FileMode, treeOf, writeBlobs, writeObjects } from './objects.ts';
import { moveRefs, readHead } from './refs.ts';
import type { Repository } from './repository.ts';
import { branchRef, GitError, type Identity, objectId } from './run.ts';
import { editTree } from './tree-edit.ts';

export interface FileChange {
  readonly path: string;
  /** Null deletes the file. */
  readonly content: Uint8Array | null;
  /** Default 100644. */
  readonly mode?: FileMode;
}

/** A path of the new commit; its blob is stored already. */
export interface CommitEdit {
  readonly path: string;
  /** Null deletes the path. */
  readonly entry: IndexEntry | null;
}

export interface NewCommit extends Attribution {
  readonly branch: string;
  readonly expectedHead: string;
  readonly edits: readonly CommitEdit[];
  readonly message: string;
  readonly author: Identity;
  readonly at: Date;
}

export type CommitResult =
  | { readonly status: 'committed'; readonly commit: string; readonly tree: string; readonly parent: string }
  | { readonly status: 'moved'; readonly head: string | null };

/** A commit that is written but that no branch names yet. */
export interface PreparedCommit {
  readonly commit: string;
  readonly tree: string;
  /** Edits that were not made: something that no edit names is in their way, or git refuses the name. */
  readonly left: readonly string[];
  /** Everything is in the commit before already. */
  readonly isEmpty: boolean;
  /**
   * Moves the branch, the index of its working tree first (null = it has none); the caller holds its lock. `moved` when
   * the branch is elsewhere by now: nothing changed but objects that nobody names. Once it is there, asking again
   * changes nothing. Throws GitError, nothing changed.
   */
  publish(index: LockedIndex | null): Promise<CommitResult>;
}

/** Writes the objects of one commit on top of `expectedHead`, which takes long, apart from moving the branch. Throws GitError. */
export async function prepareCommit(repository: Repository, request: NewCommit): Promise<PreparedCommit> {
  const { branch, expectedHead: parent, at } = request;
  const base = await treeOf(repository, parent);
  const { tree, objects, left } = await editTree((oid) => readCached(repository, oid), base, request.edits);
  const text = composeMessage(request.message, request);
  const object = commitObject(repository.git.committer, {
    ...request,
    tree,
    parents: [parent],
    text,
    authoredAt: at,
  });
  await writeObjects(repository, [...objects, object]);
  const commit = objectIdOf(object);
  const isLeft = new Set(left);
  const edits = request.edits.filter(({ path }) => !isLeft.has(path));
  const made: CommitResult = { status: 'committed', commit, tree, parent };
  let isMade = false;
  const publish = async (index: LockedIndex | null): Promise<CommitResult> => {
    if (isMade) return made;
    try {
      await index?.edit(edits, parent);
      isMade = await moveRefs(repository, [{ ref: branchRef(branch), to: commit, from: parent }], at);
    } catch (error) {
      // git may have been stopped after it had moved the branch
      isMade = (await readHead(repository, branch)) === commit;
      if (!isMade) {
        index?.restore();
        throw error;
      }
    }
    if (isMade) return made;
    index?.restore();
    return { status: 'moved', head: await readHead(repository, branch) };
  };
  return { commit, tree, left, isEmpty: tree === base, publish };
}

interface CommitOfContents extends Omit<NewCommit, 'edits'> {
  /** The working tree of the branch, whose index follows; null when the branch has none. */
  readonly worktree: string | null;
  readonly changes: readonly FileChange[];
}

export type CommitOutcome = CommitResult | { readonly status: 'index-held'; readonly ageMs: number };

/** One durable commit of these contents on top of `expectedHead`. Throws GitError. */
export async function commitChanges(repository: Repository, request: CommitOfContents): Promise<CommitOutcome> {
  const { worktree, changes } = request;
  await writeBlobs(
    repository,
    changes.flatMap(({ content }) => (content === null ? [] : [content])),
  );
  const prepared = await prepareCommit(repository, { ...request, edits: changes.map(toEdit) });
  if (prepared.left.length > 0) throw new GitError('unsafe-argument', 'git refuses a path, or something is in its way');
  if (worktree === null) return prepared.publish(null);
  const locked = await lockIndex(repository, worktree);
  if (locked.status === 'held') return { status: 'index-held', ageMs: locked.ageMs };
  try {
    return await prepared.publish(locked.index);
  } finally {
    locked.index.release();
  }
}

function toEdit({ path, content, mode = '100644' }: FileChange): CommitEdit {
  return { path, entry: content === null ? null : { mode, oid: blobId(content), stat: null } };
}

/** Writes a commit object; no reference moves. */
export async function writeCommit(repository: Repository, commit: CommitObject): Promise<string> {
  const object = commitObject(repository.git.committer, commit);
  await writeObjects(repository, [object]);
  return objectIdOf(object);
}

export interface CommitEntry extends ParsedMessage {
  readonly commit: string;
  readonly parents: readonly string[];
  /** The whole text, trailers included. */
  readonly text: string;
  readonly author: Identity;
  readonly authoredAt: Date;
  readonly committedAt: Date;
}

const LOG_FORMAT = '%H%x00%at%x00%ct%x00%P%x00%an%x00%ae%x00%B%x00';
const LOG_FIELDS = 7;

const LOG = [
  'log',
  '--no-show-signature',
  '--no-patch',
  '--no-decorate',
  '--no-notes',
  '--no-mailmap',
  '--no-color',
  '--encoding=UTF-8',
  `--format=tformat:${LOG_FORMAT}`,
];
const MAX_LOG_BYTES = 64 * 1024 * 1024;

/** These commits, in their order. */
export async function readCommits(
  repository: Repository,
  commits: readonly string[],
  maxOutputBytes = MAX_LOG_BYTES,
): Promise<CommitEntry[]> {
  if (commits.length === 0) return [];
  const { stdout } = await repository.git.run({
    args: [...LOG, '--no-walk=unsorted', '--stdin'],
    gitDir: repository.gitDir,
    stdin: commits.map((commit) => `${objectId(commit)}\n`).join(''),
    maxOutputBytes,
  });
  return entriesIn(stdout);
}

/** What a page of ordinary commits takes. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Of a text that is larger than a page. */
const KEPT_TEXT_BYTES = 64 * 1024;

/** As `readCommits`, for showing: of a commit whose text is larger than a page of others, the beginning of it. */
export async function readShownCommits(repository: Repository, commits: readonly string[]): Promise<CommitEntry[]> {
  try {
    return await readCommits(repository, commits, MAX_PAGE_BYTES);
  } catch (error) {
    if (!(error instanceof GitError && error.code === 'output-limit')) throw error;
  }
  const [only, ...others] = commits;
  if (only !== undefined && others.length === 0) return [await readBeginning(repository, only)];
  const half = Math.ceil(commits.length / 2);
  const newer = await readShownCommits(repository, commits.slice(0, half));
  return [...newer, ...(await readShownCommits(repository, commits.slice(half)))];
}

/** Of the newest commit that `from` reaches and `without` does not; null = there is none. */
export async function readNewest(
  repository: Repository,
  { from, without }: { readonly from: string; readonly without: string },
): Promise<CommitEntry | null> {
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--topo-order', '--max-count=1', objectId(from), `^${objectId(without)}`, '--'],
    gitDir: repository.gitDir,
  });
  const commit = stdout.toString('latin1').trim();
  return commit === '' ? null : readBeginning(repository, commit);
}

/** Its text may be cut off. */
async function readBeginning(repository: Repository, commit: string): Promise<CommitEntry> {
  const { stdout } = await repository.git.run({
    args: [...LOG, '--no-walk', objectId(commit), '--'],
    gitDir: repository.gitDir,
    piece: { offset: 0, length: KEPT_TEXT_BYTES },
  });
  return toEntry(stdout.toString('utf8').split('\0'));
}

function entriesIn(stdout: Buffer): CommitEntry[] {
  const fields = stdout.toString('utf8').split('\0');
  const entries: CommitEntry[] = [];
  for (let start = 0; start + LOG_FIELDS < fields.length; start += LOG_FIELDS) {
    entries.push(toEntry(fields.slice(start, start + LOG_FIELDS)));
  }
  return entries;
}

function toEntry(fields: readonly string[]): CommitEntry {
  const [commit = '', authored = '', committed = '', parents = '', name = '', email = '', text = ''] = fields;
  return {
    // tformat ends each entry with a newline, which here precedes the next one
    commit: commit.trimStart(),
    parents: parents.split(' ').filter(Boolean),
    author: { name, email },
    authoredAt: new Date(gitTimeMs(authored)),
    committedAt: new Date(gitTimeMs(committed)),
    text,
    ...parseMessage(text),
  };
}
