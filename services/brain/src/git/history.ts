/** What happened before a commit: which commits there are, in order, and what each changed. */
import { LRUCache } from 'lru-cache';
import { Slices } from '../thread/slices.ts';
import { type CommitEntry, readShownCommits } from './commits.ts';
import { knownOrRead } from './known-commits.ts';
import { besideIndex, type Repository } from './repository.ts';
import { GitError, objectId } from './run.ts';

/** Of which commits are told. Both name files and directories, as git spells them. */
export interface HistoryFilter {
  /** Commits that touch one of these; null = all. */
  readonly only: readonly string[] | null;
  /** Commits that touch nothing else are left out, as though these had never been there. */
  readonly without: readonly string[];
}

/** A commit with the commits before it of which is told. */
export interface HistoryStep {
  readonly commit: string;
  readonly parents: readonly string[];
}

const MAX_LIST_BYTES = 96 * 1024 * 1024;
const KEPT_BYTES = 64 * 1024 * 1024;
const LISTING_MS = 25_000;

/** `<commit> <parent> ...` line by line; of all repositories of this process. */
const lists = new LRUCache<string, Buffer>({ maxSize: KEPT_BYTES, sizeCalculation: (list) => list.byteLength + 1 });

/**
 * Steps from the `start`th on, newest first, at most `limit`. The first page of a whole history costs what it shows;
 * other pages come from a list that is made once per commit and filter. Throws GitError.
 */
export async function readHistory(
  repository: Repository,
  { from, filter, start, limit }: { from: string; filter: HistoryFilter; start: number; limit: number },
): Promise<HistoryStep[]> {
  const isWhole = filter.only === null && filter.without.length === 0;
  const limits = isWhole && start === 0 ? [`--max-count=${limit}`] : [];
  const key = JSON.stringify([repository.gitDir, from, filter, limits]);
  const known = lists.get(key) ?? (await list(repository, from, filter, limits));
  lists.set(key, known);
  return stepsIn(known, start, limit);
}

async function list(
  repository: Repository,
  from: string,
  { only, without }: HistoryFilter,
  limits: readonly string[],
): Promise<Buffer> {
  const { options, paths } = limitsOf({ only, without });
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--parents', ...limits, ...options, '--stdin'],
    gitDir: repository.gitDir,
    stdin: [objectId(from), '--', ...paths, ''].join('\n'),
    maxOutputBytes: MAX_LIST_BYTES,
    timeoutMs: LISTING_MS,
  });
  return stdout;
}

/** Without what is left out, as it would be had it never been there: no parent is a commit that is not told of. */
function limitsOf({ only, without }: HistoryFilter): { readonly options: string[]; readonly paths: string[] } {
  if (only === null && without.length === 0) return { options: [], paths: [] };
  const paths = [
    ...(only === null ? [':(top,glob)**'] : only.map((path) => `:(top,literal)${path}`)),
    ...without.map((path) => `:(top,exclude,literal)${path}`),
  ];
  return { options: ['--full-history', '--simplify-merges'], paths };
}

/** How many commits `commit` brings to who has all of `known` already; those that only touch `without` do not count. */
export async function countNew(
  repository: Repository,
  commit: string,
  { known, without }: { readonly known: Iterable<string>; readonly without: readonly string[] },
): Promise<number> {
  const { options, paths } = limitsOf({ only: null, without });
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--count', ...options, '--stdin'],
    gitDir: repository.gitDir,
    stdin: [objectId(commit), ...[...known].map((id) => `^${objectId(id)}`), '--', ...paths, ''].join('\n'),
  });
  return Number(stdout.toString('latin1'));
}

const LINE_END = 10;

function stepsIn(known: Buffer, start: number, limit: number): HistoryStep[] {
  const steps: HistoryStep[] = [];
  let offset = 0;
  for (let index = 0; offset < known.byteLength && steps.length < limit; index += 1) {
    const end = known.indexOf(LINE_END, offset);
    const lineEnd = end === -1 ? known.byteLength : end;
    if (index >= start) {
      const [commit = '', ...parents] = known.toString('latin1', offset, lineEnd).split(' ');
      steps.push({ commit, parents });
    }
    offset = lineEnd + 1;
  }
  return steps;
}

/** An entry of a tree that differs between two commits; null = it is not there. */
export interface EntryChange {
  /** As git spells it. */
  readonly onDisk: string;
  readonly before: string | null;
  readonly after: string | null;
}

const KEPT_CHANGES_BYTES = 32 * 1024 * 1024;
const BYTES_BESIDE_NAME = 250;
const KEPT_ENTRIES_BYTES = 4 * 1024 * 1024;

/** By a commit and the one before it, as git tells them: a commit may have changed every file there is. */
const knownChanges = new LRUCache<string, Buffer>({
  maxSize: KEPT_CHANGES_BYTES,
  sizeCalculation: (told) => told.byteLength + BYTES_BESIDE_NAME,
});
const knownEntries = new LRUCache<string, CommitEntry>({
  maxSize: KEPT_ENTRIES_BYTES,
  sizeCalculation: ({ text }) => 4 * text.length + BYTES_BESIDE_NAME,
});

const NO_OBJECT = '0'.repeat(40);

/** What each step changed against the first commit before it: to be read with `changesIn`. */
export async function readChangesOf(
  repository: Repository,
  steps: readonly HistoryStep[],
): Promise<ReadonlyMap<string, Buffer>> {
  const found = await knownOrRead(knownChanges, steps, {
    keyOf: ({ commit, parents: [parent = ''] }) => `${commit} ${parent}`,
    async read(unknown) {
      const changes = await readChanges(repository, unknown);
      return unknown.map(({ commit }) => changes.get(commit) ?? NOTHING_TOLD);
    },
  });
  return new Map(steps.map(({ commit }, index) => [commit, found[index] ?? NOTHING_TOLD]));
}

const NOTHING_TOLD = Buffer.alloc(0);

/** More than fits into memory is asked for in halves. */
async function readChanges(repository: Repository, steps: readonly HistoryStep[]): Promise<Map<string, Buffer>> {
  try {
    return await changesOf(repository, steps);
  } catch (error) {
    if (!(error instanceof GitError) || error.code !== 'output-limit' || steps.length === 1) throw error;
    const half = steps.length >> 1;
    const [first, second] = [steps.slice(0, half), steps.slice(half)];
    return new Map([...(await readChanges(repository, first)), ...(await readChanges(repository, second))]);
  }
}

async function changesOf(repository: Repository, steps: readonly HistoryStep[]): Promise<Map<string, Buffer>> {
  const { stdout } = await repository.git.run({
    args: ['diff-tree', '--stdin', '-r', '-z', '--root', '--raw', '--no-renames', '--no-abbrev'],
    ...besideIndex(repository),
    stdin: steps.map(({ commit, parents }) => `${[commit, ...parents.slice(0, 1)].map(objectId).join(' ')}\n`).join(''),
    maxOutputBytes: MAX_LIST_BYTES,
  });
  const changes = new Map<string, Buffer>();
  const slices = new Slices();
  for (let offset = 0; offset < stdout.byteLength; ) {
    const begin = fieldEnd(stdout, offset) + 1;
    const commit = stdout.toString('latin1', offset, begin - 1);
    offset = begin;
    while (stdout[offset] === COLON) {
      offset = fieldEnd(stdout, fieldEnd(stdout, offset) + 1) + 1;
      if (slices.isOver) await slices.pause();
    }
    // A copy: the rest of what git said is not to be kept with it.
    changes.set(commit, Buffer.from(stdout.subarray(begin, offset)));
  }
  return changes;
}

const COLON = 58;

function fieldEnd(told: Buffer, from: number): number {
  const end = told.indexOf(0, from);
  return end === -1 ? told.byteLength : end;
}

/** Each change of a step, sorted as git sorts. */
export function* changesIn(told: Buffer): Generator<EntryChange, void> {
  for (let offset = 0; offset < told.byteLength; ) {
    const middle = fieldEnd(told, offset);
    const end = fieldEnd(told, middle + 1);
    yield changeOf(told.toString('latin1', offset, middle), told.toString('utf8', middle + 1, end));
    offset = end + 1;
  }
}

/** `:<mode> <mode> <id> <id> <status>` */
function changeOf(raw: string, onDisk: string): EntryChange {
  const [, , before = NO_OBJECT, after = NO_OBJECT] = raw.split(' ');
  return { onDisk, before: before === NO_OBJECT ? null : before, after: after === NO_OBJECT ? null : after };
}

/** What differs between two commits, sorted as git sorts. */
export async function compareCommits(repository: Repository, from: string, to: string): Promise<EntryChange[]> {
  if (from === to) return [];
  const { stdout } = await repository.git.run({
    args: ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', objectId(from), objectId(to)],
    ...besideIndex(repository),
    maxOutputBytes: MAX_LIST_BYTES,
  });
  const slices = new Slices();
  const changes: EntryChange[] = [];
  for (const change of changesIn(stdout)) {
    changes.push(change);
    if (slices.isOver) await slices.pause();
  }
  return changes;
}

/** In their order. */
export function readEntries(repository: Repository, steps: readonly HistoryStep[]): Promise<CommitEntry[]> {
  return knownOrRead(knownEntries, steps, {
    keyOf: ({ commit }) => commit,
    read: (unknown) =>
      readShownCommits(
        repository,
        unknown.map(({ commit }) => commit),
      ),
  });
}

/** What `ours` added on its own line, the oldest first: each step is told against the first commit before it. */
export async function readOwnLine(
  repository: Repository,
  { ours, theirs }: { readonly ours: string; readonly theirs: string },
): Promise<HistoryStep[]> {
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--first-parent', '--reverse', '--parents', objectId(ours), `^${objectId(theirs)}`, '--'],
    gitDir: repository.gitDir,
    maxOutputBytes: MAX_LIST_BYTES,
    timeoutMs: LISTING_MS,
  });
  return stepsIn(stdout, 0, Number.MAX_SAFE_INTEGER);
}

/** Whether a commit that anything names touches one of these paths, as git spells them, or something below. */
export async function isInAnyCommit(repository: Repository, paths: readonly string[]): Promise<boolean> {
  if (paths.length === 0) return false;
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--max-count=1', '--all', '--stdin'],
    gitDir: repository.gitDir,
    stdin: ['--', ...paths.map((path) => `:(top,literal)${path}`), ''].join('\n'),
    timeoutMs: LISTING_MS,
  });
  return stdout.byteLength > 0;
}
