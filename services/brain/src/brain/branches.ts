/** Branches of one brain: listed, created, opened, and what is uncommitted on them. */
import { randomInt } from 'node:crypto';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { prepareCommit } from '../git/commits.ts';
import { createBranch as createRef, readHeads, readRefTimes, resolveReading } from '../git/refs.ts';
import { autoBranchName } from '../domain/auto-branch.ts';
import type { RowView } from '../ports.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { writeSection } from '../writer/context.ts';
import { attribution, REPORTED_FILES } from './commit.ts';
import { gatherEdits } from './commit-edits.ts';
import { branchCreatedEvent, eventRulesOf, savedEvent } from './brain-events.ts';
import type { OpenBrain } from './open-brain.ts';
import { dirtyCount } from './summary.ts';
import type { AutoBranch, BrainOps, BranchCreated, BranchRow, CommitRefusal, DirtyState, ReadRefusal } from './ops.ts';

type OpOf<Name extends keyof BrainOps> = Parameters<BrainOps[Name]>[0];

export interface Divergence {
  readonly ahead: number | null;
  readonly behind: number | null;
}

/** Rows in order of their names, from the first after `after`. */
export async function listBranches(
  brain: OpenBrain,
  { limit, after }: OpOf<'branches'>,
  rows: RowView,
  divergence: (branch: string, head: string) => Promise<Divergence>,
): Promise<{ branches: BranchRow[]; next: string | null }> {
  const heads = [...(await readHeads(brain.context.repository))].sort(([a], [b]) => (a < b ? -1 : 1));
  const rest = heads.filter(([name]) => after === null || name > after);
  const page = rest.slice(0, limit);
  const trees = await brain.openTrees();
  const times = await readRefTimes(brain.context.repository);
  const branches: BranchRow[] = [];
  for (const [name, commit] of page) {
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
  return { branches, next: rest.length > limit ? (page.at(-1)?.[0] ?? null) : null };
}

export async function createBranch(
  brain: OpenBrain,
  { context, branch, name, from }: OpOf<'createBranch'>,
  rows: RowView,
): Promise<Once<BranchCreated, CommitRefusal | 'E_BRANCH_EXISTS' | 'E_REF_ABSENT'>> {
  const found = await brain.writer(branch);
  if (!found.ok) return { decision: found, replayed: false };
  const writer = found.value;
  const { idempotency, outbox, repository, platform } = brain.context;
  const told = await eventRulesOf(brain.context);
  return writer.alone(context.deadlineAt, () =>
    writeSection(brain.context, context.deadlineAt, (section, irrevocable) =>
      idempotency.once(section.transaction, context.idempotency, async () => {
        const guarded = await writer.guard(section, context);
        if (!guarded.ok) return guarded;
        const commit =
          from === null
            ? await brain.headOf(branch)
            : await resolveReading(repository, from, await brain.namesFor(rows));
        if (commit === null) return deny('E_REF_ABSENT', { from });
        const at = new Date(platform.clock.now());
        if ((await createRef(repository, { branch: name, commit, at })) === 'exists')
          return deny('E_BRANCH_EXISTS', { name });
        irrevocable();
        const news = { branch: name, commit, by: context.actor };
        await outbox.write(section.transaction, [branchCreatedEvent(brain.context, told, news)]);
        return allow({ name, commit, from: from ?? branch, uncommittedLeft: dirtyCount(writer, rows) });
      }),
    ),
  );
}

/** Commits what is uncommitted here onto a new branch; this branch keeps its files and stays dirty. */
export async function autoBranch(
  brain: OpenBrain,
  { context, branch, prefix }: OpOf<'autoBranch'>,
  rows: RowView,
): Promise<Once<AutoBranch, CommitRefusal>> {
  const found = await brain.writer(branch);
  if (!found.ok) return { decision: found, replayed: false };
  const writer = found.value;
  const answer = await writer.alone(context.deadlineAt, async () => {
    await writer.tree.look();
    await writer.tellNoticed('external', context.deadlineAt);
    return branchOff(brain, writer, rows, { context, prefix });
  });
  if (answer.decision.ok && answer.decision.value.branch !== null) {
    const opened = await brain.writer(answer.decision.value.branch);
    if (!opened.ok) return { decision: opened, replayed: answer.replayed };
  }
  return answer;
}

async function branchOff(
  brain: OpenBrain,
  writer: BranchWriter,
  rows: RowView,
  { context, prefix }: Pick<OpOf<'autoBranch'>, 'context' | 'prefix'>,
): Promise<Once<AutoBranch, CommitRefusal>> {
  const { idempotency, outbox, repository } = brain.context;
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
  return writeSection(brain.context, context.deadlineAt, (section, irrevocable) =>
    idempotency.once<AutoBranch, CommitRefusal>(section.transaction, context.idempotency, async () => {
      const guarded = await writer.guard(section, context);
      if (!guarded.ok) return guarded;
      if (shown.length === 0) return allow({ branch: null, commit: null, files: [] });
      if ((await createRef(repository, { branch, commit: prepared.commit, at })) === 'exists')
        return deny('E_BUSY', { retryAfterMs: 0 });
      irrevocable();
      const news = { branch, commit: prepared.commit, by: context.actor, files: files.map(({ file }) => file) };
      await outbox.write(section.transaction, [
        branchCreatedEvent(brain.context, told, news),
        savedEvent(brain.context, told, news),
      ]);
      return allow({ branch, commit: prepared.commit, files: shown.map(({ file, change }) => ({ file, change })) });
    }),
  );
}

const SYMBOLS = 'abcdefghjkmnpqrstuvwxyz23456789';

function randomTail(): string {
  return Array.from({ length: 4 }, () => SYMBOLS[randomInt(SYMBOLS.length)]).join('');
}

/** What is uncommitted on a branch, as it is now. */
export async function dirtyState(
  brain: OpenBrain,
  branch: string,
  rows: RowView,
): Promise<Decision<DirtyState, ReadRefusal>> {
  const writer = (await brain.openTrees()).get(branch);
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

export async function changedBranches(brain: OpenBrain, rows: RowView): Promise<{ branch: string; files: number }[]> {
  const changed: { branch: string; files: number }[] = [];
  for (const branch of (await brain.openTrees()).keys()) {
    const state = await dirtyState(brain, branch, rows);
    if (state.ok && state.value.count > 0) changed.push({ branch, files: state.value.count });
  }
  return changed;
}
