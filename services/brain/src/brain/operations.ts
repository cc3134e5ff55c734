/** The operations of a brain that this process owns. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { readHead, readHeads } from '../git/refs.ts';
import type { RowView } from '../ports.ts';
import type { SearchIndex } from '../search/search-index.ts';
import type { OpContext } from '../writer/context.ts';
import { findFile, type BranchView } from './branch-view.ts';
import { autoBranch, changedBranches, createBranch, dirtyFiles, listBranches } from './branches.ts';
import { commitBranch } from './commit.ts';
import type { OpenBrain } from './open-brain.ts';
import type { BrainOps, BrainSummary, FilePage, FileView, ListedFile, SearchRow } from './ops.ts';
import { remoteDivergence, remoteState } from './remote-state.ts';
import { syncBranch } from './sync.ts';

type OpOf<Name extends keyof BrainOps> = Parameters<BrainOps[Name]>[0];
type ResultOf<Name extends keyof BrainOps> = ReturnType<BrainOps[Name]>;

export class BrainOperations implements BrainOps {
  readonly #brain: OpenBrain;

  constructor(brain: OpenBrain) {
    this.#brain = brain;
  }

  async read({ context, branch, path, at }: OpOf<'read'>): ResultOf<'read'> {
    const rows = await this.#rows(context);
    const found = await this.#brain.view(branch, at);
    if (!found.ok) return found;
    const file = await findFile(found.value, path);
    if (file === null || !rows.mayRead(file.file)) return deny('E_FILE_ABSENT', { file: path });
    const { text: content, bytes, hash, modifiedAt } = file;
    if (content === null) return deny('E_NOT_TEXT', { file: file.file });
    return allow<FileView>({
      file: file.file,
      content,
      bytes,
      hash,
      branch,
      ...committed(found.value, file.file),
      modifiedAt,
    });
  }

  async list(op: OpOf<'list'>): ResultOf<'list'> {
    const rows = await this.#rows(op.context);
    const found = await this.#brain.view(op.branch, op.at);
    if (!found.ok) return found;
    const prefix = op.category === null || op.category === '' ? '' : `${op.category}/`;
    const readable = (await found.value.files()).filter(({ file }) => file.startsWith(prefix) && rows.mayRead(file));
    const rest = readable.filter(({ file }) => op.after === null || file > op.after);
    const page = rest.slice(0, op.limit);
    const files = op.withContent || op.withTitle ? await describeFiles(found.value, page, op) : page;
    return allow<FilePage>({ files, next: rest.length > op.limit ? (page.at(-1)?.file ?? null) : null });
  }

  async search(op: OpOf<'search'>): ResultOf<'search'> {
    await this.#rows(op.context);
    const found = await this.#brain.view(op.branch, null);
    if (!found.ok) return found;
    const { query, mode, limit, group, explain, pathPrefix } = op;
    const index: SearchIndex = await found.value.index();
    const answer = index.search({
      query,
      mode,
      limit,
      group,
      explain,
      admitted: null,
      ...(pathPrefix === null ? {} : { pathPrefix }),
    });
    const rows: SearchRow[] = answer.results.map((row) => ({
      ...row,
      commit: committed(found.value, row.file).commit,
    }));
    return allow({ rows, total: answer.total });
  }

  async change({ context, branch, path, content, ifMatch }: OpOf<'change'>): ResultOf<'change'> {
    if (!(await this.#rows(context)).mayWrite(path)) throw new CallError('RLS_DENIED');
    const writer = await this.#brain.writer(branch);
    if (!writer.ok) return { decision: writer, replayed: false };
    const bytes = content === null ? null : Buffer.from(content, 'utf8');
    return writer.value.change({ path, content: bytes, ifMatch }, context);
  }

  async commit({ context, branch, message, only }: OpOf<'commit'>): ResultOf<'commit'> {
    const writer = await this.#brain.writer(branch);
    if (!writer.ok) return { decision: writer, replayed: false };
    return commitBranch(this.#brain, writer.value, { context, message, only });
  }

  branches(op: OpOf<'branches'>): ResultOf<'branches'> {
    return listBranches(this.#brain, op, (branch, head) => remoteDivergence(this.#brain, branch, head));
  }

  createBranch(op: OpOf<'createBranch'>): ResultOf<'createBranch'> {
    return createBranch(this.#brain, op);
  }

  async openBranch({ branch, create }: OpOf<'openBranch'>): ResultOf<'openBranch'> {
    const head = await readHead(this.#brain.context.repository, branch);
    if (head === null && create) {
      const adopted = await this.#brain.adoptRemoteBranch(branch);
      if (!adopted) return deny('E_BRANCH_ABSENT', { branch });
    }
    if (!create) return head === null ? deny('E_BRANCH_ABSENT', { branch }) : allow({ commit: head });
    const writer = await this.#brain.writer(branch);
    return writer.ok ? allow({ commit: await this.#brain.headOf(branch) }) : writer;
  }

  autoBranch(op: OpOf<'autoBranch'>): ResultOf<'autoBranch'> {
    return autoBranch(this.#brain, op);
  }

  async dirty({ context, branch }: OpOf<'dirty'>): ResultOf<'dirty'> {
    const rows = await this.#rows(context);
    const files = await dirtyFiles(this.#brain, branch);
    return files.ok ? allow({ files: files.value.filter(({ file }) => rows.mayRead(file)) }) : files;
  }

  async changed({ context }: OpOf<'changed'>): ResultOf<'changed'> {
    await this.#rows(context);
    return changedBranches(this.#brain);
  }

  async summary({ context }: OpOf<'summary'>): Promise<BrainSummary> {
    await this.#rows(context);
    const brain = this.#brain;
    const trees = [...(await brain.openTrees()).values()];
    const main = trees.find(({ tree }) => tree.branch === 'main');
    const files = Array.from(main?.tree.table.entries() ?? []);
    const stats = trees.map(({ tree }) => tree.index.stats());
    const heads = await readHeads(brain.context.repository);
    return {
      name: brain.context.name,
      branches: heads.size,
      files: files.length,
      dirty: trees.reduce((sum, { tree }) => sum + tree.table.dirtyCount, 0),
      commit: heads.get('main') ?? '',
      modifiedAt: files.length === 0 ? null : Math.max(...files.map(({ modifiedAt }) => modifiedAt)),
      problems: await brain.problems(),
      openConflicts: trees.reduce((sum, { openConflicts }) => sum + openConflicts.size, 0),
      remote: await remoteState(brain),
      queue: {
        depth: trees.reduce((sum, { depth }) => sum + depth, 0),
        oldestMs: Math.max(0, ...trees.map((writer) => writer.oldestMs())),
      },
      index: {
        rows: stats.reduce((sum, { rows }) => sum + rows, 0),
        bytes: stats.reduce((sum, { estimatedBytes }) => sum + estimatedBytes, 0),
      },
      counters: { mutex: brain.context.counters.mutex, lease: brain.context.counters.lease },
    };
  }

  async leaseView({ context }: OpOf<'leaseView'>): ResultOf<'leaseView'> {
    await this.#rows(context);
    return this.#brain.leases.view();
  }

  acquire({ context, token, ttlMs }: OpOf<'acquire'>): ResultOf<'acquire'> {
    return this.#brain.leases.acquire(context, { token, ttlMs });
  }

  release({ context, token }: OpOf<'release'>): ResultOf<'release'> {
    return this.#brain.leases.release(context, token);
  }

  force({ context }: OpOf<'force'>): ResultOf<'force'> {
    return this.#brain.leases.force(context);
  }

  sync(op: OpOf<'sync'>): ResultOf<'sync'> {
    return syncBranch(this.#brain, op);
  }

  async settle({ waitMs }: OpOf<'settle'>): ResultOf<'settle'> {
    const timer = Promise.withResolvers<false>();
    const handle = setTimeout(() => timer.resolve(false), waitMs);
    try {
      return await Promise.race([this.#brain.settled().then(() => true), timer.promise]);
    } finally {
      clearTimeout(handle);
    }
  }

  /** An unreadable brain is answered like an absent one. */
  async #rows(context: OpContext): Promise<RowView> {
    const rows = await this.#brain.rowView(context);
    if (!rows.mayOpen) throw new CallError('BRAIN_LOAD_FAIL');
    return rows;
  }
}

function committed(view: BranchView, file: string): { commit: string | null; dirty: boolean } {
  const dirty = view.isDirty(file);
  return { commit: dirty ? null : view.commit, dirty };
}

async function describeFiles(
  view: BranchView,
  page: readonly ListedFile[],
  { withContent }: { withContent: boolean },
): Promise<FilePage['files']> {
  const index = await view.index();
  const described: (ListedFile & { title?: string; content?: string })[] = [];
  for (const row of page) {
    const content = index.contentOf(row.file, row.hash);
    if (content === null) continue;
    described.push({ ...row, title: index.titleOf(row.file) ?? row.file, ...(withContent ? { content } : {}) });
  }
  return described;
}
