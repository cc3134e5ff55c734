/** What was learned: documents among the files of a brain, which memory writes, finds again and clears. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import { eventResources } from '../domain/resource-keys.ts';
import { commitBranch } from '../operations/commit.ts';
import { defineOperation, onBranch, once, unkeyed } from '../operations/operation.ts';
import { auditedWrite, inStep, STEP_REFUSALS, type Write } from '../operations/step.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import { type OpContext, secondStep } from '../writer/context.ts';
import { FileOutcome, type Staging } from '../writer/staging.ts';
import { LEARNED_FOLDER } from './domain/learned.ts';

const Learned = FileOutcome.extend({
  /** A file that the caller may read and that has the same bytes. */
  duplicateOf: z.string().nullable(),
});
type Learned = Readonly<z.output<typeof Learned>>;

const LEARN_REFUSALS = [...STEP_REFUSALS, 'E_CONFLICT', 'E_QUOTA'] as const;
const CLEAR_REFUSALS = [...STEP_REFUSALS, 'E_BUSY'] as const;
type ClearRefusal = (typeof CLEAR_REFUSALS)[number];

const LearnQuestion = z.strictObject({
  ...onBranch,
  key: z.string(),
  /** As the key means it; the extension rule has not been applied yet. */
  path: z.string(),
  content: z.string(),
  /** As for any write of a file. */
  ifMatch: z.string().nullable(),
});

export const learn = defineOperation({
  name: 'learn',
  effect: 'write',
  namesCommits: false,
  question: LearnQuestion,
  answer: once(Learned, LEARN_REFUSALS),
  run: (served, { branch, ...wish }) =>
    auditedWrite(served, wish.path, () => {
      const write = { ...served, branch };
      return inStep(write, (staging, writer) => learnStaged(write, staging, writer, wish));
    }),
});

function learnStaged(
  write: Write,
  staging: Staging,
  writer: BranchWriter,
  { key, path, content, ifMatch }: Omit<z.output<typeof LearnQuestion>, 'branch'>,
): Decision<Step<Learned>, 'E_CONFLICT' | 'E_QUOTA'> {
  const { rows, context, brain, branch } = write;
  const bytes = Buffer.from(content, 'utf8');
  const outcome = staging.judge({ path, content: bytes, ifMatch, rows }, context);
  if (!outcome.ok) return outcome;
  const { file, changed } = outcome.value;
  const payload = {
    key,
    file,
    brain: brain.context.name,
    branch,
    by: context.actor,
    resources: eventResources(brain.context, file),
  };
  return allow({
    value: { ...outcome.value, duplicateOf: twinOf(write, writer, file, hash('sha256', bytes, 'hex')) },
    events: changed ? [{ name: 'memory:learned', payload }] : [],
  });
}

/** The first by name of the other files with these bytes, of those that are shown as they lie there. */
function twinOf({ rows }: Write, { tree }: BranchWriter, file: string, bytesHash: string): string | null {
  let first: string | null = null;
  for (const { path, kind, hash: found } of tree.table.entries()) {
    if (found !== bytesHash || kind !== 'text' || path === file || !rows.mayRead(path) || rows.hides(path)) continue;
    if (first === null || path < first) first = path;
  }
  return first;
}

const Cleared = z.strictObject({
  files: z.number(),
  /** Where all of them can still be read. */
  commit: z.string(),
});
type Cleared = Readonly<z.output<typeof Cleared>>;

/**
 * Removes what the caller may write of what was learned. All of it is committed first; what somebody writes between that
 * and its removal stays, as if it had been written afterwards.
 */
export const clearLearned = defineOperation({
  name: 'clearLearned',
  effect: 'write',
  question: z.strictObject(onBranch),
  answer: once(Cleared, CLEAR_REFUSALS),
  run: (served, { branch }) => auditedWrite(served, LEARNED_FOLDER, () => clearBranch({ ...served, branch })),
});

async function clearBranch(write: Write): Promise<Once<Cleared, ClearRefusal>> {
  const { brain, branch, context, rows } = write;
  const { idempotency, platform } = brain.context;
  const client = poolClient(platform.database.pool);
  const earlier = await idempotency.find<Cleared, ClearRefusal>(client, context.idempotency);
  if (earlier !== null) return { decision: earlier, replayed: true };
  const found = await brain.writer(branch);
  if (!found.ok) return unkeyed(found);
  const writer = found.value;
  await writer.tree.look();
  const only = learnedFiles(write, writer).filter((file) => writer.tree.table.isDirty(file));
  if (only.length > 0) {
    const wish = { context: secondStep(context, 'commit'), message: 'what memory held', only, rows };
    const { decision } = await commitBranch(brain, writer, wish);
    if (!decision.ok) return unkeyed(decision);
  }
  const commit = await brain.headOf(branch);
  return inStep(write, (staging) => clearStaged(write, staging, writer, commit));
}

function clearStaged(
  write: Write,
  staging: Staging,
  writer: BranchWriter,
  commit: string,
): Decision<Step<Cleared>, never> {
  const { brain, branch, context, rows } = write;
  const files = learnedFiles(write, writer).filter((file) => !writer.tree.table.isDirty(file));
  // What somebody has put something else in the place of is not what was learned, and stays.
  const removed = files.filter((path) => staging.judge({ path, content: null, ifMatch: null, rows }, context).ok);
  return allow({
    value: { files: removed.length, commit },
    events: removed.length === 0 ? [] : [clearedEvent(brain, branch, context)],
  });
}

function clearedEvent({ context }: OpenBrain, branch: string, { actor: by }: OpContext): NewEvent {
  const { name: brain } = context;
  const resources = [`brain:${brain}`, `brain:${brain}/${LEARNED_FOLDER}`];
  return { name: 'memory:cleared', payload: { what: 'learned', brain, branch, by, resources } };
}

function learnedFiles({ rows }: Write, { tree }: BranchWriter): string[] {
  const prefix = `${LEARNED_FOLDER}/`;
  return [...tree.table.entries()].flatMap(({ path, kind }) =>
    kind === 'text' && path.startsWith(prefix) && rows.mayRead(path) && rows.mayWrite(path) ? [path] : [],
  );
}
