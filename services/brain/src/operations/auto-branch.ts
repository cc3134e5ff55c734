/** What is uncommitted goes onto a branch of its own. */
import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { allow, deny } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { branchCreatedEvent, eventRulesOf, savedEvent } from '../brain/brain-events.ts';
import { attribution } from '../brain/commit-attempt.ts';
import { gatherEdits } from '../brain/commit-edits.ts';
import { COMMIT_REFUSALS, type CommitRefusal } from '../brain/open-brain.ts';
import { autoBranchName } from '../domain/auto-branch.ts';
import { ChangedFile } from '../files/file-table.ts';
import { prepareCommit } from '../git/commits.ts';
import { createBranch as createRef } from '../git/refs.ts';
import { branchRef } from '../git/run.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { moveOnce } from '../writer/move-once.ts';
import { defineOperation, list, onBranch, once, type Served, unkeyed } from './operation.ts';

const AutoBranch = z.strictObject({
  branch: z.string().nullable(),
  commit: z.string().nullable(),
  files: list(ChangedFile),
});
type AutoBranch = z.output<typeof AutoBranch>;

/** Commits what is uncommitted here onto a new branch; this branch keeps its files and stays dirty. */
export const autoBranch = defineOperation({
  name: 'autoBranch',
  effect: 'write',
  needs: 'change',
  question: z.strictObject({ ...onBranch, prefix: z.string() }),
  answer: once(AutoBranch, COMMIT_REFUSALS),
  async run(served, { branch, prefix }) {
    const { brain, context } = served;
    const found = await brain.writer(branch);
    if (!found.ok) return unkeyed(found);
    const writer = found.value;
    const answer = await writer.alone(context.deadlineAt, async () => {
      await writer.tree.look();
      await writer.tellNoticed('external', context.deadlineAt);
      return branchOff(served, writer, prefix);
    });
    if (answer.decision.ok && answer.decision.value.branch !== null) {
      const opened = await brain.writer(answer.decision.value.branch);
      if (!opened.ok) return { decision: opened, replayed: answer.replayed };
    }
    return answer;
  },
});

async function branchOff(
  { brain, context, rows }: Served,
  writer: BranchWriter,
  prefix: string,
): Promise<Once<AutoBranch, CommitRefusal>> {
  const { repository } = brain.context;
  const told = await eventRulesOf(brain.context);
  const head = await brain.presentHead(writer.tree.branch);
  const files = writer.tree.table.changes();
  const shown = files.filter(({ file }) => rows.mayRead(file));
  const at = new Date(brain.context.platform.clock.now());
  const branch = autoBranchName({
    prefix,
    files: shown.map(({ file }) => file),
    at: at.toISOString(),
    tail: randomTail(),
  });
  const { edits } = await gatherEdits(repository, writer.tree, files);
  const message = `${shown.length} uncommitted ${shown.length === 1 ? 'file' : 'files'} of ${writer.tree.branch}`;
  const prepared = await prepareCommit(repository, {
    branch,
    expectedHead: head,
    edits,
    message,
    ...attribution(brain, context),
  });
  const { commit } = prepared;
  const news = { branch, commit, by: context.actor, files: files.map(({ file }) => file) };
  return moveOnce<AutoBranch, CommitRefusal>(brain.context, context, async (section, intend) => {
    const guarded = await writer.guard(section, context);
    if (!guarded.ok) return guarded;
    if (shown.length === 0) return allow({ branch: null, commit: null, files: [] });
    await intend({
      moved: { ref: branchRef(branch), commit },
      value: { branch, commit, files: shown.map(({ file, change }) => ({ file, change })) },
      events: [branchCreatedEvent(brain.context, told, news), savedEvent(brain.context, told, news)],
      isWork: true,
    });
    const isTaken = (await createRef(repository, { branch, commit, at })) === 'exists';
    return isTaken ? deny('E_BUSY', { retryAfterMs: 0 }) : null;
  });
}

const SYMBOLS = 'abcdefghjkmnpqrstuvwxyz23456789';

function randomTail(): string {
  return Array.from({ length: 4 }, () => SYMBOLS[randomInt(SYMBOLS.length)]).join('');
}
