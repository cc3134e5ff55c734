/** Making and listing commits, by plumbing only. */
import { rm } from 'node:fs/promises';
import { blobId } from './blob-id.ts';
import { type Attribution, composeMessage, type ParsedMessage, parseMessage } from './commit-message.ts';
import { scratchPath } from './journal.ts';
import { editIndex, type FileMode, resetIndex, type TreeEdit, writeBlobs, writeTree } from './objects.ts';
import { moveRefs, readHead } from './refs.ts';
import { gitDate, type Repository } from './repository.ts';
import { branchRef, type Identity, objectId } from './run.ts';
import { copyIndex, installIndex, refreshIndex } from './worktree-index.ts';

export interface FileChange {
  readonly path: string;
  /** Null deletes the file. */
  readonly content: Uint8Array | null;
  /** Default 100644. */
  readonly mode?: FileMode;
}

export interface NewCommit extends Attribution {
  readonly branch: string;
  /** The working tree of the branch, whose index follows; null when the branch has none. */
  readonly worktree: string | null;
  readonly expectedHead: string;
  readonly changes: readonly FileChange[];
  readonly message: string;
  readonly author: Identity;
  readonly at: Date;
}

export type CommitResult =
  | {
      readonly status: 'committed';
      readonly commit: string;
      readonly tree: string;
      readonly parent: string;
      /** False when a person's git held the index of the working tree. */
      readonly indexed: boolean;
    }
  | { readonly status: 'moved'; readonly head: string | null };

/** A commit that is written but that no branch names yet. */
export interface PreparedCommit {
  readonly commit: string;
  readonly tree: string;
  /** Moves the branch; `moved` (nothing changed but unreachable objects) when the branch is elsewhere by now. */
  publish(): Promise<CommitResult>;
  /** Must be called in the end, published or not. */
  close(): Promise<void>;
}

/** One durable commit on top of `expectedHead`. Throws GitError. */
export async function commitChanges(repository: Repository, request: NewCommit): Promise<CommitResult> {
  const prepared = await prepareCommit(repository, request);
  try {
    return await prepared.publish();
  } finally {
    await prepared.close();
  }
}

/** Writes objects and index, which takes long, apart from moving the branch, which does not. Throws GitError. */
export async function prepareCommit(repository: Repository, request: NewCommit): Promise<PreparedCommit> {
  const { worktree, branch, expectedHead: parent, at } = request;
  const indexFile = await scratchPath(repository, 'index');
  const close = () => rm(indexFile, { force: true });
  try {
    const tree = await writeChangedTree(repository, request, indexFile);
    const [commit, refreshed] = await Promise.all([
      writeRequested(repository, request, tree),
      // the commit stands, whatever becomes of the index
      worktree !== null && refreshIndex(repository, worktree, indexFile, []).then(isDone, isNotDone),
    ]);
    const publish = async (): Promise<CommitResult> => {
      if (!(await moveRefs(repository, [{ ref: branchRef(branch), to: commit, from: parent }], at))) {
        return { status: 'moved', head: await readHead(repository, branch) };
      }
      const indexed =
        worktree === null || (refreshed && (await installIndex(repository, worktree, indexFile).catch(isNotDone)));
      return { status: 'committed', commit, tree, parent, indexed };
    };
    return { commit, tree, publish, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const isDone = (): boolean => true;
const isNotDone = (): boolean => false;

/** The blobs are written while the index is made: their ids are known beforehand. */
async function writeChangedTree(repository: Repository, request: NewCommit, indexFile: string): Promise<string> {
  const { worktree, expectedHead, changes } = request;
  const prepareIndex = async (): Promise<void> => {
    if (worktree !== null) await copyIndex(repository, worktree, indexFile);
    await resetIndex(repository, indexFile, expectedHead);
    await editIndex(repository, indexFile, changes.map(toEdit));
  };
  const contents = changes.flatMap(({ content }) => (content === null ? [] : [content]));
  await Promise.all([writeBlobs(repository, contents), prepareIndex()]);
  return writeTree(repository, indexFile);
}

function toEdit({ path, content, mode = '100644' }: FileChange): TreeEdit {
  return { path, entry: content === null ? null : { mode, oid: blobId(content) } };
}

function writeRequested(repository: Repository, request: NewCommit, tree: string): Promise<string> {
  const { expectedHead, message, agent, fence, author, at } = request;
  const text = composeMessage(message, { agent, fence });
  return writeCommit(repository, { tree, parents: [expectedHead], text, author, authoredAt: at, at });
}

export interface CommitObject {
  readonly tree: string;
  readonly parents: readonly string[];
  /** The whole text, trailers included. */
  readonly text: string;
  readonly author: Identity;
  readonly authoredAt: Date;
  readonly at: Date;
}

/** Writes a commit object; no reference moves. */
export async function writeCommit(repository: Repository, object: CommitObject): Promise<string> {
  const parents = object.parents.flatMap((parent) => ['-p', objectId(parent)]);
  const { stdout } = await repository.git.run({
    args: ['commit-tree', ...parents, '-F', '-', objectId(object.tree)],
    gitDir: repository.gitDir,
    stdin: object.text,
    env: {
      GIT_AUTHOR_NAME: identityText(object.author.name),
      GIT_AUTHOR_EMAIL: identityText(object.author.email),
      GIT_AUTHOR_DATE: gitDate(object.authoredAt),
      GIT_COMMITTER_DATE: gitDate(object.at),
    },
  });
  return stdout.toString('latin1').trim();
}

/** Git drops these characters itself and refuses a name of which nothing is left. */
function identityText(text: string): string {
  const kept = text.replace(/[\p{Cc}<>]/gu, '').trim();
  return /[^\s.,:;"'\\]/.test(kept) ? kept : 'unknown';
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

const LOG_FORMAT = '%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%B%x00';
const LOG_FIELDS = 7;

export interface LogRange {
  readonly from: string;
  /** Leaves out what this commit already reaches. */
  readonly without?: string;
  readonly limit: number;
  readonly merges?: boolean;
  readonly oldestFirst?: boolean;
}

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

/** The commits that `from` reaches, newest first unless asked otherwise. */
export async function readLog(repository: Repository, range: LogRange): Promise<CommitEntry[]> {
  const { stdout } = await repository.git.run({
    args: [
      ...LOG,
      '--topo-order',
      `--max-count=${range.limit}`,
      ...(range.merges === false ? ['--no-merges'] : []),
      ...(range.oldestFirst === true ? ['--reverse'] : []),
      objectId(range.from),
      ...(range.without === undefined ? [] : [`^${objectId(range.without)}`]),
      '--',
    ],
    gitDir: repository.gitDir,
    maxOutputBytes: MAX_LOG_BYTES,
  });
  return entriesIn(stdout);
}

/** These commits, in their order. */
export async function readCommits(repository: Repository, commits: readonly string[]): Promise<CommitEntry[]> {
  if (commits.length === 0) return [];
  const { stdout } = await repository.git.run({
    args: [...LOG, '--no-walk=unsorted', '--stdin'],
    gitDir: repository.gitDir,
    stdin: commits.map((commit) => `${objectId(commit)}\n`).join(''),
    maxOutputBytes: MAX_LOG_BYTES,
  });
  return entriesIn(stdout);
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
  const [commit = '', parents = '', name = '', email = '', authored = '', committed = '', text = ''] = fields;
  return {
    // tformat ends each entry with a newline, which here precedes the next one
    commit: commit.trimStart(),
    parents: parents.split(' ').filter(Boolean),
    author: { name, email },
    authoredAt: new Date(Number(authored) * 1000),
    committedAt: new Date(Number(committed) * 1000),
    text,
    ...parseMessage(text),
  };
}
