/**
 * Commits of much: the objects are stored before the commit stands in the branch's queue, batch by batch, so that small
 * writes pass; what changed meanwhile is looked at again in the queue. Such a commit goes on when its caller's time is
 * over, and tells how far it is.
 */
import { z } from 'zod';
import { deny } from '@svc/contract/decision.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { LATE, within } from '@svc/runtime/within.ts';
import { isUnchanged, storeFiles, type StoredFiles } from '../git/worktree-files.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { eventRulesOf } from '../brain/brain-events.ts';
import {
  changesOf,
  type CommitAnswer,
  commitInQueue,
  CommitOutcome,
  type CommitWish,
} from '../brain/commit-attempt.ts';
import { COMMIT_REFUSALS, type CommitRefusal, type OpenBrain } from '../brain/open-brain.ts';
import { defineOperation, onBranch, once, unkeyed } from './operation.ts';

/** So many files are stored in the queue. */
const FEW_FILES = 256;
/** Whoever writes all the time does not keep a commit from its turn. */
const ROUNDS = 3;
/** The answer must be on its way before the caller's time is over. */
const ANSWER_MS = 1_000;
/** How long a commit may take that nobody waits for any more. */
const UNATTENDED_MS = 60 * 60_000;

export const commit = defineOperation({
  name: 'commit',
  effect: 'write',
  needs: 'change',
  /** `only` this file; null = everything that differs. */
  question: z.strictObject({ ...onBranch, message: z.string(), only: z.string().nullable() }),
  answer: once(CommitOutcome, COMMIT_REFUSALS),
  async run({ brain, context, rows }, { branch, message, only }) {
    const writer = await brain.writer(branch);
    return writer.ok
      ? commitBranch(brain, writer.value, { context, message, only: only === null ? null : [only], rows })
      : unkeyed(writer);
  },
});

interface Progress {
  done: number;
  total: number;
}

/** Commits of much that are under way. */
const underWay = new WeakMap<BranchWriter, Progress>();

/** A repeat of a commit that is under way is told how far that is; when it is done, a keyed one gets its outcome. */
export async function commitBranch(brain: OpenBrain, writer: BranchWriter, wish: CommitWish): Promise<CommitAnswer> {
  const running = underWay.get(writer);
  if (running !== undefined) return (await earlierAnswer(brain, wish)) ?? stillAtWork(running);
  await writer.tree.look();
  if (changesOf(writer, wish).length <= FEW_FILES) return commitInQueue(brain, writer, wish);
  const twin = underWay.get(writer);
  if (twin !== undefined) return stillAtWork(twin);
  const progress: Progress = { done: 0, total: 0 };
  underWay.set(writer, progress);
  const work = commitMuch(brain, writer, wish, progress).finally(() => underWay.delete(writer));
  return firstOf(brain, work, wish.context.deadlineAt, () => stillAtWork(progress));
}

async function earlierAnswer(brain: OpenBrain, { context }: CommitWish): Promise<CommitAnswer | null> {
  const { idempotency, platform } = brain.context;
  const client = poolClient(platform.database.pool);
  const decision = await idempotency.find<CommitOutcome, CommitRefusal>(client, context.idempotency);
  return decision === null ? null : { decision, replayed: true };
}

function stillAtWork({ done, total }: Progress): CommitAnswer {
  const text = `A commit of ${total} files is under way, ${done} of them are stored. It goes on; repeat the call to learn when it is done.`;
  return { decision: deny('E_BUSY', { retryAfterMs: 1000, done, total }, text), replayed: false };
}

/** The outcome of the work, or, when that takes too long, `instead`; the work goes on. */
async function firstOf(
  brain: OpenBrain,
  work: Promise<CommitAnswer>,
  deadlineAt: number,
  instead: () => CommitAnswer,
): Promise<CommitAnswer> {
  const { clock, log } = brain.context.platform;
  const answer = await within(deadlineAt - clock.now() - ANSWER_MS, work);
  if (answer !== LATE) return answer;
  work.catch((error: unknown) => log.error({ err: error, brain: brain.context.name }, 'a big commit failed'));
  return instead();
}

async function commitMuch(
  brain: OpenBrain,
  writer: BranchWriter,
  wish: CommitWish,
  progress: Progress,
): Promise<CommitAnswer> {
  const known: StoredFiles = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const present = changesOf(writer, wish).filter(({ change }) => change !== 'deleted');
    const paths = present
      .map(({ onDisk }) => onDisk)
      .filter((path) => !isUnchanged(writer.tree.root, path, known.get(path)));
    if (paths.length <= FEW_FILES) break;
    progress.total = known.size + paths.length;
    const before = known.size;
    const onProgress = (done: number): Promise<void> => {
      progress.done = before + done;
      return tell(brain, writer, progress);
    };
    const stored = await storeFiles(brain.context.repository, writer.tree.root, paths, { onProgress });
    for (const [path, file] of stored) known.set(path, file);
    progress.done = progress.total;
    await writer.tree.look();
  }
  const deadlineAt = brain.context.platform.clock.now() + UNATTENDED_MS;
  return commitInQueue(brain, writer, { ...wish, context: { ...wish.context, deadlineAt } }, known);
}

async function tell({ context }: OpenBrain, { tree }: BranchWriter, { done, total }: Progress): Promise<void> {
  const { name: brain, outbox, platform } = context;
  // How much there is tells something of what some may not read.
  if (!(await eventRulesOf(context)).isUnruled) return;
  const payload = { brain, branch: tree.branch, what: 'commit' as const, done, total, resources: [`brain:${brain}`] };
  await withPgTransaction(platform.database.pool, (transaction) =>
    outbox.write(transaction, [{ name: 'brain:progress', payload }]),
  );
  outbox.kick();
}
