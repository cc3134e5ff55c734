/** Commits what differs from the last commit. */
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { allow, deny } from '@svc/contract/decision.ts';
import { diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { blobId } from '../git/blob-id.ts';
import { type FileChange, type NewCommit, type PreparedCommit, prepareCommit } from '../git/commits.ts';
import { obstacleAt } from '../files/durable-write.ts';
import { isAbsent } from '../files/fsync.ts';
import { GitError } from '../git/run.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { type OpContext, writeSection } from '../writer/context.ts';
import type { OpenBrain } from './open-brain.ts';
import type { TreeChange } from '../files/file-table.ts';
import type { CommitOutcome, CommitRefusal } from './ops.ts';

export interface CommitWish {
  readonly context: OpContext;
  readonly message: string;
  /** Only this file; null = everything that differs. */
  readonly only: string | null;
  /** Everything is committed; files that may not be read are not told of. */
  readonly rows: RowView;
}

export const REPORTED_FILES = 1000;
const ATTEMPTS = 5;

type Answer = Once<CommitOutcome, CommitRefusal>;

/** Waits for its turn in the branch's queue. A branch that a person moves meanwhile is followed, five times. */
export function commitBranch(brain: OpenBrain, writer: BranchWriter, wish: CommitWish): Promise<Answer> {
  const { deadlineAt } = wish.context;
  return writer.alone(deadlineAt, async () => {
    await writer.tree.look();
    await writer.tellNoticed('external', deadlineAt);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const answer = await tryCommit(brain, writer, wish).catch((error: unknown) => refusedByDisk(brain, error));
      if (answer !== null) return answer;
    }
    return { decision: deny('E_BUSY', { retryAfterMs: 1000 }), replayed: false };
  });
}

/** Git could not write its objects; the branch is where it was. */
function refusedByDisk(brain: OpenBrain, error: unknown): Answer {
  if (!(error instanceof GitError) || diskTroubleOf(error) !== null) throw error;
  brain.context.platform.log.error({ err: error, brain: brain.context.name }, 'git refused a commit');
  return { decision: deny('E_STATE_WRITE'), replayed: false };
}

/** Null when the branch moved between look and commit. */
async function tryCommit(brain: OpenBrain, writer: BranchWriter, wish: CommitWish): Promise<Answer | null> {
  const { branch } = writer.tree;
  const head = await brain.headOf(branch);
  const all = writer.tree.table.changes();
  const files = wish.only === null ? all : all.filter(({ file }) => file === wish.only);
  const changes = await readChanges(writer.tree.root, files);
  const commit = newCommit(brain, writer, wish, head, changes);
  const prepared = files.length === 0 ? null : await prepareCommit(brain.context.repository, commit);
  try {
    return await publish(brain, writer, wish, { head, files, changes, prepared });
  } finally {
    await prepared?.close();
  }
}

/** The bytes to commit, as they lie on disk. Where a person put a link, the file counts as removed: links are not followed. */
export async function readChanges(root: string, files: readonly TreeChange[]): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for (const { onDisk, change, mode } of files) {
    const isLink = mode === '120000';
    const isThere = change !== 'deleted' && (isLink || obstacleAt(root, onDisk) === null);
    const content = !isThere ? null : await (isLink ? readTarget(join(root, onDisk)) : readPresent(join(root, onDisk)));
    changes.push({ path: onDisk, content, ...(mode === null ? {} : { mode }) });
  }
  return changes;
}

function newCommit(
  brain: OpenBrain,
  writer: BranchWriter,
  { message, context }: CommitWish,
  expectedHead: string,
  changes: readonly FileChange[],
): NewCommit {
  const { root: worktree, branch } = writer.tree;
  return { branch, worktree, expectedHead, changes, message, ...attribution(brain, context) };
}

/** Who and when, as commits of the service record it. */
export function attribution(brain: OpenBrain, { actor, caller, fence }: OpContext) {
  return {
    author: { name: actor, email: `${actor.replace(/[^A-Za-z0-9._-]/g, '-')}@svc.local` },
    at: new Date(brain.context.platform.clock.now()),
    agent: caller.verifiedAgent ?? caller.declaredAgent ?? undefined,
    fence: fence ?? undefined,
  };
}

interface Ready {
  readonly head: string;
  readonly files: readonly TreeChange[];
  readonly changes: readonly FileChange[];
  readonly prepared: PreparedCommit | null;
}

/** The lease is judged and the branch moved in one section; only that keeps the database waiting. */
async function publish(brain: OpenBrain, writer: BranchWriter, wish: CommitWish, ready: Ready): Promise<Answer | null> {
  const { context } = wish;
  const { idempotency, outbox, name } = brain.context;
  let moved = false;
  const answer = await writeSection(brain.context, context.deadlineAt, (section, irrevocable) =>
    idempotency.once<CommitOutcome, CommitRefusal>(section.transaction, context.idempotency, async () => {
      const guarded = await writer.guard(section, context);
      if (!guarded.ok) return guarded;
      const outcome = outcomeOf(wish, ready);
      if (ready.prepared === null) return allow(outcome);
      if ((await ready.prepared.publish()).status === 'moved') {
        moved = true;
        throw new BranchMoved();
      }
      irrevocable();
      const resources = [`brain:${name}`];
      const payload = {
        brain: name,
        branch: writer.tree.branch,
        commit: outcome.commit,
        files: ready.files.length,
        by: context.actor,
        resources,
      };
      await outbox.write(section.transaction, [{ name: 'brain:save', payload }]);
      return allow(outcome);
    }),
  ).catch((error: unknown) => {
    if (moved && error instanceof BranchMoved) return null;
    throw error;
  });
  if (answer?.decision.ok === true && ready.prepared !== null && !answer.replayed) {
    const changes = ready.changes.map(
      ({ path, content, mode = '100644' }) => [path, content === null ? null : { mode, oid: blobId(content) }] as const,
    );
    await brain.adoptHead(writer, ready.prepared.commit, new Map(changes));
  }
  return answer;
}

/** Rolls the section back; the next attempt starts from the new head. */
class BranchMoved extends Error {}

function outcomeOf({ message, rows }: CommitWish, { head, files, prepared }: Ready): CommitOutcome {
  const readable = files.filter(({ file }) => rows.mayRead(file));
  return {
    committed: prepared !== null,
    commit: prepared?.commit ?? head,
    parent: prepared === null ? null : head,
    message,
    files: readable.slice(0, REPORTED_FILES).map(({ file, change }) => ({ file, change })),
    count: readable.length,
  };
}

async function readTarget(path: string): Promise<Uint8Array | null> {
  return readlink(path, { encoding: 'buffer' });
}

async function readPresent(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
