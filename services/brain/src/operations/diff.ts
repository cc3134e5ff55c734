/** What differs between two states of a branch, in the texts as one subject is shown them. */
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import { modeHeader, REGULAR_MODE, textDifference } from '../domain/diff/unified.ts';
import { compareCommits } from '../git/history.ts';
import type { Repository } from '../git/repository.ts';
import type { RowView } from '../ports.ts';
import { ChangeKind } from '../files/file-table.ts';
import type { BranchView } from '../brain/branch-view.ts';
import { type OpenBrain, READ_REFUSALS } from '../brain/open-brain.ts';
import { kindOf } from './history.ts';
import { decision, defineOperation, list, onBranch, page } from './operation.ts';

const DiffRow = z.strictObject({
  file: z.string(),
  change: ChangeKind,
  /** Lines; null of what is not text, as is `patch`. */
  added: z.number().nullable(),
  removed: z.number().nullable(),
  patch: z.string().nullable(),
  truncated: z.boolean(),
});
type DiffRow = z.output<typeof DiffRow>;

const DiffPage = z.strictObject({
  rows: list(DiffRow),
  /** The last file that was looked at when there may be more. */
  next: z.string().nullable(),
});
type DiffPage = z.output<typeof DiffPage>;

const DiffQuestion = z.strictObject({
  ...onBranch,
  /** Only this file; null = all. */
  path: z.string().nullable(),
  from: z.string().nullable(),
  to: z.string().nullable(),
  /** Of all patches together. */
  bytes: z.number(),
  ...page,
});
type DiffQuestion = z.output<typeof DiffQuestion>;

/** `from` null = the branch's last commit; `to` null = its files as they are, and then `toCommit` is null. */
export const readDiff = defineOperation({
  name: 'diff',
  effect: 'read',
  question: DiffQuestion,
  answer: decision(DiffPage.extend({ fromCommit: z.string(), toCommit: z.string().nullable() }), READ_REFUSALS),
  async run({ brain, rows }, { branch, from, to, ...wish }) {
    const past = async (at: string | null) => brain.view(branch, at === null ? null : { at, rows });
    const uncommitted = to === null ? await uncommittedOf(brain, branch) : new Map();
    const now = await past(to);
    if (!now.ok) return now;
    const before = from === null ? await brain.lastCommit(branch) : await past(from);
    if (!before.ok) return before;
    const states = { from: before.value, to: now.value, uncommitted };
    const found = await compareStates(brain.context.repository, states, wish, rows);
    return allow({ ...found, fromCommit: before.value.commit, toCommit: to === null ? null : now.value.commit });
  },
});

interface DiffStates {
  readonly from: BranchView;
  readonly to: BranchView;
  /** What `to` differs by from its own commit, when it is a working tree. */
  readonly uncommitted: ReadonlyMap<string, ChangeKind>;
}

/** Text that one call compares: what is left is on the next page. */
const COMPARED_BYTES = 8 * 1024 * 1024;

async function compareStates(
  repository: Repository,
  states: DiffStates,
  { path, after, limit, bytes }: Omit<DiffQuestion, 'branch' | 'from' | 'to'>,
  rows: RowView,
): Promise<DiffPage> {
  const differing = await differingFiles(repository, states, path, rows);
  const found: DiffRow[] = [];
  let [room, work, last] = [bytes, COMPARED_BYTES, after];
  for (const [file, change] of differing.filter(([name]) => after === null || name > after)) {
    if (found.length === limit || work <= 0) return { rows: found, next: last };
    await turn(); // nobody waits for more than one comparison
    const before = change === 'added' ? null : await readSide(states.from, file, rows);
    const now = change === 'deleted' ? null : await readSide(states.to, file, rows);
    const row = rowOf(file, before, now, room);
    work -= (before?.bytes ?? 0) + (now?.bytes ?? 0);
    last = file;
    if (row === null) continue;
    room -= Buffer.byteLength(row.patch ?? '');
    found.push(row);
  }
  return { rows: found, next: null };
}

/** Readable files, in order. */
async function differingFiles(
  repository: Repository,
  { from, to, uncommitted }: DiffStates,
  path: string | null,
  rows: RowView,
): Promise<[string, ChangeKind][]> {
  const committed = new Map<string, ChangeKind>();
  for (const entry of await compareCommits(repository, from.commit, to.commit))
    committed.set(entry.onDisk.normalize('NFC'), kindOf(entry));
  const differing = new Map(committed);
  for (const [file, change] of uncommitted) {
    const both = sinceBoth(committed.get(file), change);
    if (both === null) differing.delete(file);
    else differing.set(file, both);
  }
  const meant = path === null ? null : candidatePaths(path);
  const shown = [...differing].filter(([file]) => (meant === null || meant.includes(file)) && rows.mayRead(file));
  return shown.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** What one change after another comes to; null = the file came and went. */
function sinceBoth(first: ChangeKind | undefined, second: ChangeKind): ChangeKind | null {
  const wasThere = first === undefined ? second !== 'added' : first !== 'added';
  if (second === 'deleted') return wasThere ? 'deleted' : null;
  return wasThere ? 'modified' : 'added';
}

/** One side of a comparison; `text` null = it is not text. */
interface Side {
  readonly text: string | null;
  readonly bytes: number;
  readonly hash: string | null;
  readonly mode: string;
}

/** Null when nothing of it may be shown. What is not served is there all the same. */
async function readSide(view: BranchView, file: string, rows: RowView): Promise<Side | null> {
  const found = await view.read(file);
  if (found === null) return { text: null, bytes: 0, hash: null, mode: REGULAR_MODE };
  // Bytes that nobody read are like no others.
  if (found.hash === '') return { text: null, bytes: found.bytes, hash: null, mode: found.mode };
  if (found.text === null || !rows.hides(file)) return found;
  const text = rows.shown(file, found.text);
  return text === null ? null : { text, bytes: Buffer.byteLength(text), hash: found.hash, mode: found.mode };
}

/** Null when both states have it alike. */
function rowOf(file: string, before: Side | null, now: Side | null, room: number): DiffRow | null {
  const change = kindBetween(before, now);
  if (change === null) return null;
  const [old, current] = [textOf(before), textOf(now)];
  if (old === undefined || current === undefined)
    return { file, change, added: null, removed: null, patch: null, truncated: false };
  const above = modeHeader(file, fileOf(before, old), fileOf(now, current));
  if (Buffer.byteLength(above) > room)
    return { file, change, ...textDifference(file, old, current, 0), truncated: true };
  const difference = textDifference(file, old, current, room - Buffer.byteLength(above));
  return { file, change, ...difference, patch: above + difference.patch };
}

function kindBetween(before: Side | null, now: Side | null): ChangeKind | null {
  if (before === null) return now === null ? null : 'added';
  if (now === null) return 'deleted';
  const isSame = before.hash !== null && before.hash === now.hash && before.mode === now.mode;
  return isSame ? null : 'modified';
}

/** Null = there is no file; undefined = it is not text. */
function textOf(side: Side | null): string | null | undefined {
  return side === null ? null : (side.text ?? undefined);
}

function fileOf(side: Side | null, text: string | null): { mode: string; text: string } | null {
  return side === null || text === null ? null : { mode: side.mode, text };
}

/** What a commit of the branch would take now. */
async function uncommittedOf(brain: OpenBrain, branch: string): Promise<ReadonlyMap<string, ChangeKind>> {
  const writer = (await brain.trees.all()).get(branch);
  if (writer === undefined) return new Map();
  await writer.tree.look();
  await brain.headOf(branch);
  return new Map(writer.tree.table.changes().map(({ file, change }) => [file, change]));
}
