/** Branches of one brain: listed, created, opened, and what is uncommitted on them. */
import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { branchCreatedEvent, eventRulesOf, savedEvent } from '../brain/brain-events.ts';
import { REPORTED_FILES, attribution, noteCommitOf } from '../brain/commit-attempt.ts';
import { gatherEdits } from '../brain/commit-edits.ts';
import {
  COMMIT_REFUSALS,
  type CommitRefusal,
  type OpenBrain,
  READ_REFUSALS,
  type ReadRefusal,
} from '../brain/open-brain.ts';
import { divergenceFor } from '../brain/remote-state.ts';
import { autoBranchName } from '../domain/auto-branch.ts';
import { ChangedFile, LeftEntry } from '../files/file-table.ts';
import { prepareCommit } from '../git/commits.ts';
import { createBranch as createRef, readHead, readHeads, readRefTimes, resolveReading } from '../git/refs.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { moveOnce } from '../writer/move-once.ts';
import { decision, defineOperation, list, onBranch, once, page, type Served, unkeyed } from './operation.ts';

const BranchRow = z.strictObject({
  name: z.string(),
  commit: z.string(),
  dirty: z.boolean(),
  changedFiles: z.number(),
  worktree: z.boolean(),
  ahead: z.number().nullable(),
  behind: z.number().nullable(),
  /** Milliseconds since the epoch of the last commit. */
  updatedAt: z.number(),
});
type BranchRow = z.output<typeof BranchRow>;

/** In order of their names. */
export const listBranches = defineOperation({
  name: 'branches',
  effect: 'read',
  question: z.strictObject(page),
  answer: z.strictObject({ branches: list(BranchRow), next: z.string().nullable() }),
  async run({ brain, rows }, { limit, after }) {
    const heads = [...(await readHeads(brain.context.repository))].sort(([a], [b]) => (a < b ? -1 : 1));
    const rest = heads.filter(([name]) => after === null || name > after);
    const some = rest.slice(0, limit);
    return {
      branches: await branchRows(brain, some, rows),
      next: rest.length > limit ? (some.at(-1)?.[0] ?? null) : null,
    };
  },
});

async function branchRows(brain: OpenBrain, heads: readonly [string, string][], rows: RowView): Promise<BranchRow[]> {
  const divergence = await divergenceFor(brain, rows);
  const trees = await brain.trees.all();
  const times = await readRefTimes(brain.context.repository);
  const branches: BranchRow[] = [];
  for (const [name, commit] of heads) {
    const writer = trees.get(name);
    if (writer !== undefined) await brain.headOf(name);
    const changedFiles = writer === undefined ? 0 : dirtyCount(writer, rows);
    const remote = await divergence(name, commit);
    branches.push({
      name,
      commit,
      dirty: changedFiles > 0,
      changedFiles,
      worktree: writer !== undefined,
      ...remote,
      updatedAt: times.get(name) ?? 0,
    });
  }
  return branches;
}

const BranchCreated = z.strictObject({
  name: z.string(),
  commit: z.string(),
  from: z.string(),
  uncommittedLeft: z.number(),
});
type BranchCreated = z.output<typeof BranchCreated>;

export const createBranch = defineOperation({
  name: 'createBranch',
  effect: 'write',
  needs: 'change',
  question: z.strictObject({ ...onBranch, name: z.string(), from: z.string().nullable() }),
  answer: once(BranchCreated, [...COMMIT_REFUSALS, 'E_BRANCH_EXISTS', 'E_REF_ABSENT']),
  async run({ brain, context, rows }, { branch, name, from }) {
    const found = await brain.writer(branch);
    if (!found.ok) return unkeyed(found);
    const writer = found.value;
    await brain.followHandRenames(); // a name that a person left may be given anew
    const { outbox, repository, platform } = brain.context;
    const told = await eventRulesOf(brain.context);
    let commit: string | null = null;
    return writer.alone(context.deadlineAt, () =>
      moveOnce<BranchCreated, CommitRefusal | 'E_BRANCH_EXISTS' | 'E_REF_ABSENT'>(brain.context, context, {
        async move(section) {
          const guarded = await writer.guard(section, context);
          if (!guarded.ok) return guarded;
          commit =
            from === null
              ? await brain.headOf(branch)
              : await resolveReading(repository, from, await brain.namesFor(rows));
          if (commit === null) return deny('E_REF_ABSENT', { from });
          const at = new Date(platform.clock.now());
          const isTaken = (await createRef(repository, { branch: name, commit, at })) === 'exists';
          return isTaken ? deny('E_BRANCH_EXISTS', { name }) : null;
        },
        async store(section) {
          const made = commit ?? '';
          const news = { branch: name, commit: made, by: context.actor };
          await outbox.write(section.transaction, [branchCreatedEvent(brain.context, told, news)]);
          return allow({ name, commit: made, from: from ?? branch, uncommittedLeft: dirtyCount(writer, rows) });
        },
      }),
    );
  },
});

/** Answers the head of a branch that is here. */
export const findBranch = defineOperation({
  name: 'findBranch',
  effect: 'read',
  question: z.strictObject(onBranch),
  answer: decision(z.strictObject({ commit: z.string() }), ['E_BRANCH_ABSENT']),
  async run({ brain }, { branch }) {
    const commit = await readHead(brain.context.repository, branch);
    return commit === null ? deny('E_BRANCH_ABSENT', { branch }) : allow({ commit });
  },
});

/** Makes the branch ready for writing, from the remote's if only that has it; answers its head. */
export const openBranch = defineOperation({
  name: 'openBranch',
  effect: 'write-idempotent',
  question: z.strictObject({ ...onBranch, create: z.boolean() }),
  answer: decision(z.strictObject({ commit: z.string() }), ['E_BRANCH_ABSENT', 'E_LIMIT']),
  async run({ brain }, { branch, create }) {
    const head = await readHead(brain.context.repository, branch);
    if (head === null && create) {
      const adopted = await brain.adoptRemoteBranch(branch);
      if (!adopted) return deny('E_BRANCH_ABSENT', { branch });
    }
    if (!create) return head === null ? deny('E_BRANCH_ABSENT', { branch }) : allow({ commit: head });
    const writer = await brain.writer(branch);
    // What a person has in hand can be read meanwhile.
    if (!writer.ok && writer.code !== 'E_BRAIN_DIVERTED') return { ...writer, code: writer.code };
    return allow({ commit: await brain.headOf(branch) });
  },
});

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
  const { outbox, repository } = brain.context;
  const told = await eventRulesOf(brain.context);
  const head = await brain.headOf(writer.tree.branch);
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
  return moveOnce<AutoBranch, CommitRefusal>(brain.context, context, {
    async move(section) {
      const guarded = await writer.guard(section, context);
      if (!guarded.ok) return guarded;
      if (shown.length === 0) return allow({ branch: null, commit: null, files: [] });
      const isTaken = (await createRef(repository, { branch, commit: prepared.commit, at })) === 'exists';
      return isTaken ? deny('E_BUSY', { retryAfterMs: 0 }) : null;
    },
    async store(section) {
      const news = { branch, commit: prepared.commit, by: context.actor, files: files.map(({ file }) => file) };
      await outbox.write(section.transaction, [
        branchCreatedEvent(brain.context, told, news),
        savedEvent(brain.context, told, news),
      ]);
      await noteCommitOf(brain, section, context, prepared.commit);
      return allow({ branch, commit: prepared.commit, files: shown.map(({ file, change }) => ({ file, change })) });
    },
  });
}

const SYMBOLS = 'abcdefghjkmnpqrstuvwxyz23456789';

function randomTail(): string {
  return Array.from({ length: 4 }, () => SYMBOLS[randomInt(SYMBOLS.length)]).join('');
}

/** Uncommitted files that may be read. */
export function dirtyCount({ tree }: BranchWriter, rows: RowView): number {
  if (rows.isUnruled) return tree.table.dirtyCount;
  return tree.table.changes().filter(({ file }) => rows.mayRead(file)).length;
}

/** What differs from the last commit, the first of each list. */
const DirtyState = z.strictObject({
  files: list(ChangedFile),
  count: z.number(),
  /** What a commit would leave as it is. */
  left: list(LeftEntry),
  leftCount: z.number(),
});

/** What is uncommitted on a branch, as it is now. */
export const readDirty = defineOperation({
  name: 'dirty',
  effect: 'read',
  question: z.strictObject(onBranch),
  answer: decision(DirtyState, READ_REFUSALS),
  run: ({ brain, rows }, { branch }) => dirtyState(brain, branch, rows),
});

export async function dirtyState(
  brain: OpenBrain,
  branch: string,
  rows: RowView,
): Promise<Decision<z.output<typeof DirtyState>, ReadRefusal>> {
  const writer = (await brain.trees.all()).get(branch);
  if (writer === undefined) {
    const view = await brain.view(branch, null);
    return view.ok ? allow({ files: [], count: 0, left: [], leftCount: 0 }) : view;
  }
  await writer.tree.look();
  await brain.headOf(branch);
  const { table } = writer.tree;
  const files = table.changes().filter(({ file }) => rows.mayRead(file));
  const left = table.left().filter(({ file }) => rows.mayRead(file));
  return allow({
    files: files.slice(0, REPORTED_FILES).map(({ file, change }) => ({ file, change })),
    count: files.length,
    left: left.slice(0, REPORTED_FILES),
    leftCount: left.length,
  });
}

/** Branches with uncommitted files. */
export const listChanged = defineOperation({
  name: 'changed',
  effect: 'read',
  question: z.strictObject({}),
  answer: list(z.strictObject({ branch: z.string(), files: z.number() })),
  async run({ brain, rows }) {
    const changed: { branch: string; files: number }[] = [];
    for (const branch of (await brain.trees.all()).keys()) {
      const state = await dirtyState(brain, branch, rows);
      if (state.ok && state.value.count > 0) changed.push({ branch, files: state.value.count });
    }
    return changed;
  },
});
