/** Commits what differs from the last commit, side by side with a person who does the same. */
import { z } from 'zod';
import { allow, deny } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { ChangedFile, type HeadEntry, type TreeChange } from '../files/file-table.ts';
import { type NewCommit, type PreparedCommit, prepareCommit } from '../git/commits.ts';
import { indexStamp, type LockAttempt, lockIndex, type LockedIndex } from '../git/index-lock.ts';
import { branchRef } from '../git/run.ts';
import type { StoredFiles } from '../git/worktree-files.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import type { OpContext } from '../writer/context.ts';
import { moveOnce } from '../writer/move-once.ts';
import { eventRulesOf, savedEvent } from './brain-events.ts';
import { gatherEdits, type GatheredEdits, isStillSo } from './commit-edits.ts';
import { noteCommit } from './housekeeping.ts';
import type { CommitRefusal, OpenBrain } from './open-brain.ts';

export const CommitOutcome = z.strictObject({
  committed: z.boolean(),
  commit: z.string(),
  parent: z.string().nullable(),
  message: z.string(),
  /** The first of them. */
  files: z.array(ChangedFile).readonly(),
  count: z.number(),
});
export type CommitOutcome = z.output<typeof CommitOutcome>;

export interface CommitWish {
  readonly context: OpContext;
  readonly message: string;
  /** Only these files; null = everything that differs. */
  readonly only: readonly string[] | null;
  /** Everything is committed; files that may not be read are not told of. */
  readonly rows: RowView;
}

export const REPORTED_FILES = 1000;
const ATTEMPTS = 6;
/** From the third attempt on the index is held from the first look on, so that nobody else can commit in between. */
const ATTEMPTS_SIDE_BY_SIDE = 2;

export type CommitAnswer = Once<CommitOutcome, CommitRefusal>;

/** In its turn in the branch's queue. A branch that a person moves meanwhile is followed, some times. */
export function commitInQueue(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: CommitWish,
  known: StoredFiles = new Map(),
): Promise<CommitAnswer> {
  return writer.alone(wish.context.deadlineAt, async () => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const answer = await tryCommit(brain, writer, wish, {
        known,
        isHeldEarly: attempt > ATTEMPTS_SIDE_BY_SIDE,
      });
      if (answer !== null) return answer;
    }
    return { decision: deny('E_BUSY', { retryAfterMs: 1000 }), replayed: false };
  });
}

/** Null when somebody changed the branch or the files between look and commit. */
async function tryCommit(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: CommitWish,
  { known, isHeldEarly }: { readonly known: StoredFiles; readonly isHeldEarly: boolean },
): Promise<CommitAnswer | null> {
  const { repository } = brain.context;
  const { root } = writer.tree;
  let lock: LockAttempt | null = isHeldEarly ? await lockIndex(repository, root) : null;
  try {
    const ready = await getReady(brain, writer, wish, known);
    if (ready.prepared === null) return await publish(brain, writer, wish, ready, null);
    lock ??= await lockIndex(repository, root);
    if (lock.status === 'held') return { decision: indexHeld(lock.ageMs), replayed: false };
    const isIndexUnchanged = isHeldEarly || (await indexStamp(repository, root)) === ready.indexStamp;
    if (!isStillSo(writer.tree, ready, isIndexUnchanged)) return null;
    return await publish(brain, writer, wish, ready, lock.index);
  } finally {
    if (lock?.status === 'locked') lock.index.release();
  }
}

/** A person's git, or what is left of one, has the index of the working tree. */
export function indexHeld(ageMs: number) {
  const seconds = Math.round(ageMs / 1000);
  return deny(
    'E_BUSY',
    { retryAfterMs: 1000, lock: '.git/index.lock', lockAgeMs: Math.round(ageMs) },
    `Another git works in the working tree: its index.lock is ${seconds} s old. Try again when it is done; a lock that nobody holds any more is taken away after ten minutes, or by removing the file.`,
  );
}

interface Ready extends GatheredEdits {
  readonly head: string;
  readonly indexStamp: string | null;
  /** Null when nothing differs. */
  readonly prepared: PreparedCommit | null;
}

/** What was seen of index, head and files is judged again under the lock. */
async function getReady(brain: OpenBrain, writer: BranchWriter, wish: CommitWish, known: StoredFiles): Promise<Ready> {
  const { repository } = brain.context;
  const { tree } = writer;
  const stamp = await indexStamp(repository, tree.root);
  await tree.look();
  await writer.tellNoticed('external', wish.context.deadlineAt);
  const head = await brain.presentHead(tree.branch);
  const changes = changesOf(writer, wish);
  const gathered = await gatherEdits(repository, tree, changes, { known });
  const isClean = gathered.edits.length === 0;
  const prepared = isClean ? null : await prepareCommit(repository, newCommit(brain, writer, wish, head, gathered));
  const left = new Set(prepared?.left);
  const taken = gathered.taken.filter(({ onDisk }) => !left.has(onDisk));
  return { ...gathered, taken, head, indexStamp: stamp, prepared: prepared?.isEmpty === false ? prepared : null };
}

export function changesOf(writer: BranchWriter, { only }: Pick<CommitWish, 'only'>): TreeChange[] {
  const all = writer.tree.table.changes();
  if (only === null) return all;
  const wanted = new Set(only);
  return all.filter(({ file }) => wanted.has(file));
}

function newCommit(
  brain: OpenBrain,
  writer: BranchWriter,
  { message, context }: CommitWish,
  expectedHead: string,
  { edits }: GatheredEdits,
): NewCommit {
  return { branch: writer.tree.branch, expectedHead, edits, message, ...attribution(brain, context) };
}

/** Who and when, as commits of the service record it. */
export function attribution(brain: OpenBrain, { actor, verifiedAgent, declaredAgent, fence }: OpContext) {
  return {
    author: { name: actor, email: `${actor.replace(/[^A-Za-z0-9._-]/g, '-')}@svc.local` },
    at: new Date(brain.context.platform.clock.now()),
    agent: verifiedAgent ?? declaredAgent ?? undefined,
    fence: fence ?? undefined,
  };
}

/** The lease is judged and the branch moved in one section; only that keeps the database waiting. */
async function publish(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: CommitWish,
  ready: Ready,
  index: LockedIndex | null,
): Promise<CommitAnswer | null> {
  const { context } = wish;
  const told = await eventRulesOf(brain.context);
  const outcome = outcomeOf(wish, ready);
  const { branch } = writer.tree;
  const files = ready.taken.map(({ file }) => file);
  const news = { branch, commit: outcome.commit, by: context.actor, files };
  const answer = await moveOnce<CommitOutcome, CommitRefusal>(brain.context, context, async (section, intend) => {
    const guarded = await writer.guard(section, context);
    if (!guarded.ok) return guarded;
    if (ready.prepared === null) return allow(outcome);
    const moved = { ref: branchRef(branch), commit: outcome.commit };
    await intend({ moved, value: outcome, events: [savedEvent(brain.context, told, news)], isWork: true });
    if ((await ready.prepared.publish(index)).status === 'moved') throw new BranchMoved();
    return null;
  }).catch((error: unknown) => {
    if (error instanceof BranchMoved) return null;
    throw error;
  });
  if (answer?.decision.ok === true && ready.prepared !== null && !answer.replayed) {
    noteCommit(brain);
    const left = new Set(ready.prepared.left);
    const made = ready.edits.filter(({ path }) => !left.has(path));
    await brain.adoptHead(
      writer,
      ready.prepared.commit,
      new Map(made.map(({ path, entry }) => [path, headEntry(entry)])),
    );
  }
  return answer;
}

function headEntry(entry: HeadEntry | null): HeadEntry | null {
  return entry === null ? null : { mode: entry.mode, oid: entry.oid };
}

/** Rolls the section back; the next attempt starts from the new head. */
class BranchMoved extends Error {}

function outcomeOf({ message, rows }: CommitWish, { head, taken, prepared }: Ready): CommitOutcome {
  const readable = (prepared === null ? [] : taken).filter(({ file }) => rows.mayRead(file));
  return {
    committed: prepared !== null,
    commit: prepared?.commit ?? head,
    parent: prepared === null ? null : head,
    message,
    files: readable.slice(0, REPORTED_FILES).map(({ file, change }) => ({ file, change })),
    count: readable.length,
  };
}
