/** Branches of one brain: listed, created, opened, and what is uncommitted on them. */
import { z } from 'zod';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { branchCreatedEvent, eventRulesOf } from '../brain/brain-events.ts';
import { REPORTED_FILES } from '../brain/commit-attempt.ts';
import {
  COMMIT_REFUSALS,
  type CommitRefusal,
  type OpenBrain,
  READ_REFUSALS,
  type ReadRefusal,
} from '../brain/open-brain.ts';
import { divergenceFor } from '../brain/remote-state.ts';
import { ChangedFile, LeftEntry } from '../files/file-table.ts';
import {
  createBranch as createRef,
  isNameTaken,
  readHead,
  readHeads,
  readCommitTimes,
  resolveReading,
} from '../git/refs.ts';
import { branchRef } from '../git/run.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { moveOnce } from '../writer/move-once.ts';
import { decision, defineOperation, list, onBranch, once, page, unkeyed } from './operation.ts';

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
  const commits = heads.map(([, commit]) => commit);
  const times = await readCommitTimes(brain.context.repository, commits);
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
      updatedAt: times.get(commit) ?? 0,
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
    const { repository, platform } = brain.context;
    const told = await eventRulesOf(brain.context);
    return writer.alone(context.deadlineAt, () =>
      moveOnce<BranchCreated, CommitRefusal | 'E_BRANCH_EXISTS' | 'E_REF_ABSENT'>(
        brain.context,
        context,
        async (section, intend) => {
          const guarded = await writer.guard(section, context);
          if (!guarded.ok) return guarded;
          const commit =
            from === null
              ? await brain.presentHead(branch)
              : await resolveReading(repository, from, await brain.namesFor(rows));
          if (commit === null) return deny('E_REF_ABSENT', { from });
          // Or its record would take the branch that is there for the new one.
          if (await isNameTaken(repository, name, null)) return deny('E_BRANCH_EXISTS', { name });
          await intend({
            moved: { ref: branchRef(name), commit },
            value: { name, commit, from: from ?? branch, uncommittedLeft: dirtyCount(writer, rows) },
            events: [branchCreatedEvent(brain.context, told, { branch: name, commit, by: context.actor })],
          });
          const at = new Date(platform.clock.now());
          const isTaken = (await createRef(repository, { branch: name, commit, at })) === 'exists';
          return isTaken ? deny('E_BRANCH_EXISTS', { name }) : null;
        },
      ),
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
