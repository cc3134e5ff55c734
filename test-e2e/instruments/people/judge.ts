/** Judges a brain after people and agents worked in it: nothing lost, nothing invisible, nothing wedged. */
import type { Caller, Fields } from '../../client.ts';
import { assertSound, git } from '../git.ts';
import {
  type DiskEntry,
  deletions,
  diskEntries,
  keptObjects,
  keptTexts,
  leftovers,
  stagedPaths,
  treeAt,
  unignoredPaths,
} from './evidence.ts';
import type { Ground } from './ground.ts';
import type { Version } from './history.ts';

const MAX_TOLD = 6;
const READ_BACK = 12;
const CLOCK_SLACK_MS = 1000;

interface JudgeOptions {
  readonly caller: Caller;
  readonly nextWriteWithinMs: number;
}

/** Adds what it finds to the problems of the ground. */
export async function judge(ground: Ground, options: JudgeOptions): Promise<void> {
  const before = stateOf(ground.folder);
  await told(ground, 'what is listed', () => listedProblems(ground, before, options));
  await told(ground, 'what is uncommitted', () => dirtyProblems(ground, before, options));
  await told(ground, 'the last commit', () => commitProblems(ground, options));
  await told(ground, 'lost bytes', () => lostVersions(ground));
  await told(ground, 'paths that nobody removed', () => missingPaths(ground));
  await told(ground, 'the repository', () => repositoryProblems(ground));
  await told(ground, 'reading', () => readProblems(ground, before, options));
  await told(ground, 'health', () => healthProblems(ground, before, options));
  await told(ground, 'the next write', () => nextWriteProblems(ground, options));
}

async function told({ problems }: Ground, what: string, find: () => Promise<string[]> | string[]): Promise<void> {
  const found = await foundBy(find);
  problems.push(...found.slice(0, MAX_TOLD).map((text) => `${what}: ${text}`));
  if (found.length > MAX_TOLD) problems.push(`${what}: and ${found.length - MAX_TOLD} more`);
}

/** A call that is refused is a finding too. */
async function foundBy(find: () => Promise<string[]> | string[]): Promise<string[]> {
  try {
    return await find();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

interface State {
  readonly disk: ReadonlyMap<string, DiskEntry>;
  /** Entries that git would not ignore. */
  readonly shown: readonly DiskEntry[];
  readonly staged: ReadonlySet<string>;
  /** What a commit must take. */
  readonly due: ReadonlySet<string>;
  /** What it may take or leave. */
  readonly free: ReadonlySet<string>;
  /** Not as in the last commit. */
  readonly unlike: ReadonlySet<string>;
  /** Folded name -> all that is called so. */
  readonly spellings: ReadonlyMap<string, readonly DiskEntry[]>;
}

function stateOf(folder: string): State {
  const disk = diskEntries(folder);
  const unignored = unignoredPaths(folder);
  const shown = [...disk.values()].filter(({ path }) => unignored.has(path));
  const staged = stagedPaths(folder);
  const tree = treeAt(folder, 'HEAD');
  const due = new Set([...tree.keys()].filter((path) => !disk.has(path)));
  const free = new Set<string>();
  const unlike = new Set<string>();
  const spellings = Map.groupBy(shown, ({ path }) => foldedName(path));
  for (const entry of shown) {
    const { path } = entry;
    const committed = tree.get(path);
    if (committed?.blob === entry.blob && committed.mode === entry.mode) continue;
    unlike.add(path);
    const isOnly = spellings.get(foldedName(path))?.length === 1;
    if (!isOnly || (committed === undefined && !isTaken(entry) && staged.has(path))) free.add(path);
    else if (committed !== undefined || isTaken(entry)) due.add(path);
  }
  return { disk, shown, staged, due, free, unlike, spellings };
}

function isAlone({ spellings }: Pick<State, 'spellings'>, path: string): boolean {
  return spellings.get(foldedName(path))?.length === 1;
}

/** What a commit adds without being asked by a person's own `git add`. */
function isTaken({ kind, path }: DiskEntry): boolean {
  return kind !== 'link' && kind !== 'other' && !isDotted(path);
}

function isDotted(path: string): boolean {
  return path.split('/').some((segment) => segment.startsWith('.'));
}

/** Names that are one to some file systems; of two such files the second is only shown. */
function foldedName(path: string): string {
  return path.normalize('NFKC').toLowerCase();
}

interface Row {
  readonly file: string;
  readonly kind?: string;
}

async function listed({ brain }: Ground, { caller }: JudgeOptions): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await caller.ok<{ files: Row[]; nextCursor?: string }>('brain_list_files', {
      brain,
      branch: 'main',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    rows.push(...page.files);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return rows;
}

async function listedProblems(ground: Ground, state: State, options: JudgeOptions): Promise<string[]> {
  const { shown } = state;
  const rows = new Map(
    (await listed(ground, options)).map((row) => [row.file.normalize('NFC'), row.kind ?? 'no kind']),
  );
  const problems: string[] = [];
  for (const { path, kind } of shown) {
    const row = rows.get(path.normalize('NFC'));
    if (row === undefined) problems.push(`${path} (${kind}) is not listed`);
    else if (row !== kind && !(isDotted(path) || row === 'other'))
      problems.push(`${path} is ${kind}, listed as ${row}`);
  }
  const there = new Set(shown.map(({ path }) => path.normalize('NFC')));
  for (const file of rows.keys()) if (!there.has(file)) problems.push(`${file} is listed and not there`);
  return problems;
}

interface Dirt {
  readonly dirty: boolean;
  readonly files: readonly { readonly file: string }[];
  readonly left: readonly { readonly file: string }[];
}

async function dirtyProblems({ brain }: Ground, state: State, { caller }: JudgeOptions): Promise<string[]> {
  const args = { brain, branch: 'main' };
  const answer = await caller.ok<Dirt>('svc_branch_is_dirty', args);
  const { dirty, files, left } = answer;
  const told = new Set(files.map(({ file }) => file));
  const toldLeft = new Set(left.map(({ file }) => file));
  const problems = [...state.due].filter((path) => !told.has(path)).map((path) => `${path} is not told as changed`);
  for (const path of told) {
    if (!state.due.has(path) && !state.free.has(path)) problems.push(`${path} is told as changed and is not`);
  }
  const kept = state.shown.filter(({ path }) => state.unlike.has(path) && !told.has(path) && !toldLeft.has(path));
  problems.push(...kept.map(({ path }) => `${path} is neither told as changed nor as left`));
  if (dirty !== told.size > 0) problems.push(`dirty is ${dirty} with ${told.size} files`);
  return problems;
}

async function commitProblems({ brain, folder }: Ground, { caller }: JudgeOptions): Promise<string[]> {
  const args = { brain, branch: 'main' };
  await caller.ok('svc_commit', { ...args, message: 'at the end' });
  const { dirty, files } = await caller.ok<Dirt>('svc_branch_is_dirty', args);
  const after = stateOf(folder);
  const problems = [...after.due].map((path) => `${path} is not as it is on disk`);
  if (dirty && files.some(({ file }) => !after.free.has(file)))
    problems.push(`still dirty: ${JSON.stringify(files).slice(0, 200)}`);
  const status = git(folder, 'status', '--porcelain', '-uall', '-z').split('\0').filter(Boolean);
  for (const row of status) {
    const path = row.slice(3);
    const entry = after.disk.get(path);
    // What a person staged and then took from the disk, and no commit ever had, is in her index alone: hers.
    const isStagedOnly = row.startsWith('AD ');
    const isLeft = isStagedOnly || (entry !== undefined && !isTaken(entry));
    if (!isLeft && !after.free.has(path) && !after.due.has(path)) problems.push(`git status says ${row}`);
  }
  return problems;
}

function lostVersions({ history, folder, treesFolder }: Ground): string[] {
  const objects = keptObjects(folder);
  const disk = [folder, treesFolder].flatMap((root) => [...diskEntries(root).values()]);
  const onDisk = new Set(disk.map(({ blob }) => blob));
  let texts: string[] | null = null;
  const isKept = ({ blob, marks }: Version): boolean => {
    if (blob !== null && (onDisk.has(blob) || objects.has(blob))) return true;
    if (marks.length === 0) return false;
    texts ??= [...disk.flatMap(({ text }) => text ?? []), ...keptTexts(folder, objects)];
    return texts.some((text) => marks.every((mark) => text.includes(mark)));
  };
  const lost = history.standing().filter((version) => !isKept(version));
  return lost.map(
    ({ path, by, branch, kind, marks }) => `${path} of ${branch}, ${kind} by ${by} (${marks[0] ?? 'moved'})`,
  );
}

function missingPaths({ history, folder }: Ground): string[] {
  const { disk, shown, due } = stateOf(folder);
  const tree = treeAt(folder, 'main');
  const missing = [...history.owedPaths()]
    .filter((path) => !disk.has(path))
    .map((path) => `${path} is not in the tree`);
  for (const { path } of shown) if (due.has(path) && !tree.has(path)) missing.push(`${path} is not at the tip`);
  for (const { path, commit, by, at } of deletions(folder)) {
    const before = at + CLOCK_SLACK_MS - performance.timeOrigin;
    if (!history.mayBeDeleted(path, before)) missing.push(`${path} was deleted by ${by} in ${commit.slice(0, 10)}`);
  }
  return missing;
}

function repositoryProblems({ folder }: Ground): string[] {
  assertSound(folder);
  return leftovers(folder).map((path) => `${path} was left behind`);
}

async function readProblems({ brain }: Ground, state: State, { caller }: JudgeOptions): Promise<string[]> {
  const problems: string[] = [];
  const texts = state.shown.filter(({ kind, path }) => kind === 'text' && !isDotted(path) && isAlone(state, path));
  for (const { path, text } of texts.slice(0, READ_BACK)) {
    const reply = await caller.call('brain_read', { brain, branch: 'main', name: path });
    if (reply.body.result?.['content'] !== text) problems.push(`${path}: ${reply.text.slice(0, 160)}`);
  }
  return problems;
}

async function healthProblems({ brain }: Ground, { shown }: State, { caller }: JudgeOptions): Promise<string[]> {
  const { brains } = await caller.ok<{ brains: { name: string; openConflicts: number; problems: Fields[] }[] }>(
    'svc_health',
  );
  const own = brains.find(({ name }) => name === brain);
  if (own === undefined) return ['the brain is not there'];
  const isAllServed = shown.every(({ kind, path }) => kind === 'text' && !isDotted(path));
  const unexplained = own.problems.filter(
    ({ code }) => isAllServed || code === 'E_BRAIN_DIVERTED' || code === 'INTERNAL',
  );
  return unexplained.map((problem) => JSON.stringify(problem).slice(0, 200));
}

async function nextWriteProblems({ brain }: Ground, { caller, nextWriteWithinMs }: JudgeOptions): Promise<string[]> {
  const content = 'the next write\n';
  const from = performance.now();
  await caller.ok('brain_write', { brain, branch: 'main', name: 'probe.md', content });
  const tookMs = performance.now() - from;
  await caller.ok('svc_commit', { brain, branch: 'main', message: 'the next write' });
  return tookMs > nextWriteWithinMs ? [`took ${Math.round(tookMs)} ms`] : [];
}
