/** The operations of a brain that this process owns. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import type { PolicyMode } from '@svc/contract/policy.ts';
import { readHead } from '../git/refs.ts';
import type { RowView } from '../ports.ts';
import type { OpContext } from '../writer/context.ts';
import { deleteBranch, renameBranch } from './branch-removal.ts';
import { autoBranch, changedBranches, createBranch, dirtyState, listBranches } from './branches.ts';
import { commitBranch } from './commit.ts';
import { listConflicts, readConflict, resolveConflict } from './conflicts.ts';
import { amend, createIslands, removeIsland } from './island-writes.ts';
import { compareStates, uncommittedOf } from './diff.ts';
import { readPage } from './history.ts';
import { unreadableEver } from './island-past.ts';
import { IslandReader } from './islands.ts';
import { mergeBranch } from './merge-branch.ts';
import type { OpenBrain } from './open-brain.ts';
import type { BrainOps, BrainSummary, BranchOp, ReadRefusal } from './ops.ts';
import { listFiles, readFile, searchFiles, type Seen } from './reading.ts';
import { divergenceFor } from './remote-state.ts';
import type { RetireWish } from './retirement.ts';
import { WITHOUT_IDS, withShownIds } from './shown-ids.ts';
import { summarise } from './summary.ts';
import { syncBranch } from './sync.ts';

type OpOf<Name extends keyof BrainOps> = Parameters<BrainOps[Name]>[0];
type ResultOf<Name extends keyof BrainOps> = ReturnType<BrainOps[Name]>;

export class BrainOperations implements BrainOps {
  readonly #brain: OpenBrain;
  readonly #islands = new IslandReader();

  readonly #retire: (wish: RetireWish) => ResultOf<'retire'>;

  /** `retire`: what the host does with a brain that goes. */
  constructor(brain: OpenBrain, retire: (wish: RetireWish) => ResultOf<'retire'>) {
    this.#brain = brain;
    this.#retire = retire;
  }

  async read(op: OpOf<'read'>): ResultOf<'read'> {
    const seen = await this.#seen(op, op.at);
    if (!seen.ok) return seen;
    const { rows } = seen.value;
    const file = await readFile(seen.value, op);
    // Whether there is a file that may not be read makes no difference, to the answer and to the audit.
    const denied = file.ok ? undefined : candidatePaths(op.path).find((path) => !rows.mayRead(path));
    if (denied !== undefined) this.#note(op.context, denied, 'read', rows);
    return file;
  }

  async list(op: OpOf<'list'>): ResultOf<'list'> {
    const seen = await this.#seen(op, op.at);
    return seen.ok ? allow(await listFiles(seen.value, op)) : seen;
  }

  async search(op: OpOf<'search'>): ResultOf<'search'> {
    const seen = await this.#seen(op, null);
    return seen.ok ? allow(await searchFiles(seen.value, op)) : seen;
  }

  async change({ context, branch, path, content, ifMatch }: OpOf<'change'>): ResultOf<'change'> {
    const rows = await this.#rows(context);
    const denied = candidatePaths(path).filter((candidate) => !rows.mayWrite(candidate));
    try {
      // Denied whatever is there: no working tree is opened for it.
      if (denied.length === candidatePaths(path).length) throw new CallError(rows.writeDenial(path) ?? 'RLS_DENIED');
      const writer = await this.#brain.writer(branch);
      if (!writer.ok) return { decision: writer, replayed: false };
      const bytes = content === null ? null : Buffer.from(content, 'utf8');
      return await writer.value.change({ path, content: bytes, ifMatch, rows }, context);
    } catch (error) {
      const [file] = denied;
      if (file !== undefined && isRowDenial(error)) this.#note(context, file, 'write', rows);
      throw error;
    }
  }

  async commit({ context, branch, message, only }: OpOf<'commit'>): ResultOf<'commit'> {
    const rows = await this.#rowsToChange(context);
    const writer = await this.#brain.writer(branch);
    if (!writer.ok) return { decision: writer, replayed: false };
    return commitBranch(this.#brain, writer.value, { context, message, only, rows });
  }

  async branches(op: OpOf<'branches'>): ResultOf<'branches'> {
    const rows = await this.#rows(op.context);
    return listBranches(this.#brain, op, rows, await divergenceFor(this.#brain, rows));
  }

  async createBranch(op: OpOf<'createBranch'>): ResultOf<'createBranch'> {
    return createBranch(this.#brain, op, await this.#rowsToChange(op.context));
  }

  async openBranch({ context, branch, create }: OpOf<'openBranch'>): ResultOf<'openBranch'> {
    await this.#rows(context);
    const head = await readHead(this.#brain.context.repository, branch);
    if (head === null && create) {
      const adopted = await this.#brain.adoptRemoteBranch(branch);
      if (!adopted) return deny('E_BRANCH_ABSENT', { branch });
    }
    if (!create) return head === null ? deny('E_BRANCH_ABSENT', { branch }) : allow({ commit: head });
    const writer = await this.#brain.writer(branch);
    return writer.ok ? allow({ commit: await this.#brain.headOf(branch) }) : writer;
  }

  async autoBranch(op: OpOf<'autoBranch'>): ResultOf<'autoBranch'> {
    return autoBranch(this.#brain, op, await this.#rowsToChange(op.context));
  }

  async dirty({ context, branch }: OpOf<'dirty'>): ResultOf<'dirty'> {
    return dirtyState(this.#brain, branch, await this.#rows(context));
  }

  async changed({ context }: OpOf<'changed'>): ResultOf<'changed'> {
    return changedBranches(this.#brain, await this.#rows(context));
  }

  async summary({ context }: OpOf<'summary'>): Promise<BrainSummary> {
    return summarise(this.#brain, await this.#rows(context));
  }

  async leaseView({ context }: OpOf<'leaseView'>): ResultOf<'leaseView'> {
    await this.#rows(context);
    return this.#brain.leases.view();
  }

  async acquire({ context, ...wish }: OpOf<'acquire'>): ResultOf<'acquire'> {
    await this.#rowsToChange(context);
    return this.#brain.leases.acquire(context, wish);
  }

  async release({ context, token }: OpOf<'release'>): ResultOf<'release'> {
    await this.#rows(context);
    return this.#brain.leases.release(context, token);
  }

  async force({ context }: OpOf<'force'>): ResultOf<'force'> {
    await this.#rows(context);
    return this.#brain.leases.force(context);
  }

  async sync(op: OpOf<'sync'>): ResultOf<'sync'> {
    return syncBranch(this.#brain, { ...op, rows: await this.#rowsToChange(op.context) });
  }

  async islands({ context, branch, after }: OpOf<'islands'>): ResultOf<'islands'> {
    const rows = await this.#rows(context);
    const found = await this.#brain.view(branch, null);
    return found.ok ? allow(await this.#islands.list({ branch, view: found.value, rows }, after)) : found;
  }

  async island({ context, branch, name, append }: OpOf<'island'>): ResultOf<'island'> {
    const rows = await this.#rows(context);
    const found = await this.#brain.view(branch, null);
    return found.ok ? allow(await this.#islands.read({ branch, view: found.value, rows }, name, append)) : found;
  }

  async createIslands({ context, branch, islands }: OpOf<'createIslands'>): ResultOf<'createIslands'> {
    return createIslands({ brain: this.#brain, rows: await this.#rows(context), branch, context }, islands);
  }

  async amendIsland({ context, branch, ...wish }: OpOf<'amendIsland'>): ResultOf<'amendIsland'> {
    return amend({ brain: this.#brain, rows: await this.#rows(context), branch, context }, wish);
  }

  async removeIsland({ context, branch, name }: OpOf<'removeIsland'>): ResultOf<'removeIsland'> {
    return removeIsland({ brain: this.#brain, rows: await this.#rows(context), branch, context }, name);
  }

  async mergeBranch(op: OpOf<'mergeBranch'>): ResultOf<'mergeBranch'> {
    return mergeBranch(this.#brain, op, await this.#rowsToChange(op.context));
  }

  async deleteBranch(op: OpOf<'deleteBranch'>): ResultOf<'deleteBranch'> {
    return deleteBranch(this.#brain, op, await this.#rowsToChange(op.context));
  }

  async renameBranch(op: OpOf<'renameBranch'>): ResultOf<'renameBranch'> {
    await this.#rowsToChange(op.context);
    return renameBranch(this.#brain, op);
  }

  async conflicts(op: OpOf<'conflicts'>): ResultOf<'conflicts'> {
    return listConflicts(this.#brain, op, await this.#rows(op.context));
  }

  async readConflict(op: OpOf<'readConflict'>): ResultOf<'readConflict'> {
    return readConflict(this.#brain, op, await this.#rows(op.context));
  }

  async resolveConflict(op: OpOf<'resolveConflict'>): ResultOf<'resolveConflict'> {
    return resolveConflict(this.#brain, op, await this.#rows(op.context));
  }

  async history(op: OpOf<'history'>): ResultOf<'history'> {
    const seen = await this.#seen(op, op.at);
    if (!seen.ok) return seen;
    const { view, rows } = seen.value;
    const names = await this.#brain.namesFor(rows);
    const { repository, islands } = this.#brain.context;
    const unreadable = await unreadableEver(islands, rows);
    const page = await readPage(repository, { ...op, from: view.commit }, { rows, names, unreadable });
    return allow({ ...page, tip: view.commit });
  }

  async diff(op: OpOf<'diff'>): ResultOf<'diff'> {
    const rows = await this.#rows(op.context);
    const past = async (at: string | null) => this.#brain.view(op.branch, at === null ? null : { at, rows });
    const uncommitted = op.to === null ? await uncommittedOf(this.#brain, op.branch) : new Map();
    const now = await past(op.to);
    if (!now.ok) return now;
    const before = op.from === null ? await this.#brain.lastCommit(op.branch) : await past(op.from);
    if (!before.ok) return before;
    const states = { from: before.value, to: now.value, uncommitted };
    const page = await compareStates(this.#brain.context.repository, states, op, rows);
    const toCommit = op.to === null ? null : now.value.commit;
    return allow({ ...page, fromCommit: before.value.commit, toCommit });
  }

  async retire({ context, to }: OpOf<'retire'>): ResultOf<'retire'> {
    await this.#rowsToChange(context);
    return this.#retire({ context, to });
  }

  async settle({ context, waitMs }: OpOf<'settle'>): ResultOf<'settle'> {
    await this.#rows(context);
    const timer = Promise.withResolvers<false>();
    const handle = setTimeout(() => timer.resolve(false), waitMs);
    try {
      return await Promise.race([this.#brain.settled().then(() => true), timer.promise]);
    } finally {
      clearTimeout(handle);
    }
  }

  /** What an operation answered, with its commits named as the caller may know them. */
  async shown<Answer>(op: keyof BrainOps, context: OpContext, answer: Answer): Promise<Answer> {
    if (WITHOUT_IDS.has(op)) return answer;
    const rows = await this.#brain.rowView(context);
    if (rows.isWhole) return answer;
    const names = await this.#brain.namesFor(rows);
    return names === this.#brain.context.handles.plain ? answer : withShownIds(answer, names);
  }

  /** An unreadable brain is answered like an absent one. */
  async #rows(context: OpContext): Promise<RowView> {
    const rows = await this.#brain.rowView(context);
    if (!rows.mayOpen) throw new CallError('BRAIN_LOAD_FAIL');
    return rows;
  }

  /** For what changes the brain as a whole. */
  async #rowsToChange(context: OpContext): Promise<RowView> {
    const rows = await this.#rows(context);
    if (rows.mayChange) return rows;
    this.#note(context, '', 'write', rows);
    throw new CallError('RLS_DENIED');
  }

  async #seen({ context, branch }: BranchOp, at: string | null): Promise<Decision<Seen, ReadRefusal>> {
    const rows = await this.#rows(context);
    const found = await this.#brain.view(branch, at === null ? null : { at, rows });
    if (!found.ok) return found;
    return allow({ view: found.value, rows, state: at === null ? branch : found.value.commit });
  }

  #note({ subject, operator }: OpContext, file: string, mode: PolicyMode, rows: RowView): void {
    const { denials, name: brain } = this.#brain.context;
    denials.note({ brain, file, mode, verdict: rows.verdict(file, mode), subject, operator });
  }
}

function isRowDenial(error: unknown): boolean {
  return error instanceof CallError && (error.code === 'RLS_DENIED' || error.code === 'E_ISLAND_WRITE_DENIED');
}
