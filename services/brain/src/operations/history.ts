/** What happened in a brain, as one subject may know it: commits that touched what it reads, and what they changed there. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import type { CommitEntry } from '../git/commits.ts';
import {
  changesIn,
  type EntryChange,
  type HistoryFilter,
  type HistoryStep,
  readChangesOf,
  readEntries,
  readHistory,
} from '../git/history.ts';
import type { Repository } from '../git/repository.ts';
import { GitError } from '../git/run.ts';
import type { RowView } from '../ports.ts';
import type { CommitNames } from '../rules/commit-handles.ts';
import { spellings, unreadableEver } from '../brain/island-past.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { Slices } from '../thread/slices.ts';
import { ChangedFile } from '../files/file-table.ts';
import { decision, defineOperation, list, onBranch } from './operation.ts';

/** A commit, with what it changed against its first parent as far as that may be known. */
const HistoryRow = z.strictObject({
  commit: z.string(),
  parents: list(z.string()),
  author: z.string(),
  agent: z.string().exactOptional(),
  at: z.number(),
  message: z.string(),
  files: list(ChangedFile),
  count: z.number(),
});
type HistoryRow = z.output<typeof HistoryRow>;

const HistoryPage = z.strictObject({
  rows: list(HistoryRow),
  /** Where the next page begins; null = there is none. */
  next: z.number().nullable(),
});
type HistoryPage = z.output<typeof HistoryPage>;

export const readHistoryPage = defineOperation({
  name: 'history',
  effect: 'read',
  question: z.strictObject({
    ...onBranch,
    /** Only commits that touched this file; null = all. */
    path: z.string().nullable(),
    at: z.string().nullable(),
    start: z.number(),
    limit: z.number(),
  }),
  /** `tip`: the commit from which on it was told. */
  answer: decision(HistoryPage.extend({ tip: z.string() }), READ_REFUSALS),
  async run({ brain, rows }, { branch, at, ...wish }) {
    const found = at === null ? await brain.lastCommit(branch) : await brain.view(branch, { at, rows });
    if (!found.ok) return found;
    const tip = found.value.commit;
    const { repository, islands } = brain.context;
    const seer = { rows, names: await brain.namesFor(rows), unreadable: await unreadableEver(islands, rows) };
    return allow({ ...(await readPage(repository, { ...wish, from: tip }, seer)), tip });
  },
});

interface HistoryWish {
  readonly path: string | null;
  readonly from: string;
  readonly start: number;
  readonly limit: number;
}

const LISTED_FILES = 100;
const MESSAGE_LENGTH = 10_000;

/** Who asks, and how such a one names commits. */
interface Seer {
  readonly rows: RowView;
  readonly names: CommitNames;
  /** Of the paths that commits of the brain may hold. */
  readonly unreadable: readonly string[];
}

async function readPage(
  repository: Repository,
  { path, from, start, limit }: HistoryWish,
  seer: Seer,
): Promise<HistoryPage> {
  const { rows, names } = seer;
  const filter = filterFor(path, seer);
  if (filter === null) return { rows: [], next: null };
  // One more tells whether there is another page.
  const steps = await readHistory(repository, { from, filter, start, limit: limit + 1 }).catch(tooLong);
  const page = steps.slice(0, limit);
  const [entries, changes] = await Promise.all([readEntries(repository, page), readChangesOf(repository, page)]);
  const slices = new Slices();
  const shown: HistoryRow[] = [];
  for (const [index, step] of page.entries()) {
    const files = await visible(changes.get(step.commit), { filter, rows, slices });
    const row = rowOf(step, entries[index], files, names);
    if (row !== null && !isHiddenAlone(step, row, seer)) shown.push(row);
  }
  return { rows: shown, next: steps.length > limit ? start + limit : null };
}

function tooLong(error: unknown): never {
  throw error instanceof GitError && error.code === 'timeout' ? new CallError('TIMEOUT') : error;
}

/** Null when there is nothing that may be known. A file answers like one that was never there when it may not be read. */
function filterFor(path: string | null, { rows, names, unreadable }: Seer): HistoryFilter | null {
  const without = names.isOpaque ? unreadable.flatMap(spellings) : [];
  if (path === null) return { only: null, without };
  const readable = candidatePaths(path).filter((candidate) => rows.mayRead(candidate));
  return readable.length === 0 ? null : { only: readable.flatMap(spellings), without };
}

type VisibleFiles = Pick<HistoryRow, 'files' | 'count'>;

interface Visibility {
  readonly filter: HistoryFilter;
  readonly rows: RowView;
  readonly slices: Slices;
}

/** All are counted, and the first are named. */
async function visible(
  told: Buffer | undefined,
  { filter: { only }, rows, slices }: Visibility,
): Promise<VisibleFiles> {
  const files: ChangedFile[] = [];
  let count = 0;
  for (const entry of told === undefined ? [] : changesIn(told)) {
    const file = entry.onDisk.normalize('NFC');
    const isMeant = only === null || only.includes(entry.onDisk) || only.includes(file);
    if (isMeant && rows.mayRead(file) && rows.mayRead(entry.onDisk)) {
      count += 1;
      if (files.length < LISTED_FILES) files.push({ file, change: kindOf(entry) });
    }
    if (slices.isOver) await slices.pause();
  }
  return { files, count };
}

export function kindOf({ before, after }: Pick<EntryChange, 'before' | 'after'>): ChangedFile['change'] {
  return before === null ? 'added' : after === null ? 'deleted' : 'modified';
}

/** Once more where it leaves: git left out what it could tell by name. */
function isHiddenAlone({ parents }: HistoryStep, { count }: HistoryRow, { names, unreadable }: Seer): boolean {
  return names.isOpaque && count === 0 && parents.length < 2 && unreadable.length > 0;
}

function rowOf(
  { commit, parents }: HistoryStep,
  entry: CommitEntry | undefined,
  files: VisibleFiles,
  names: CommitNames,
): HistoryRow | null {
  if (entry === undefined) return null;
  const { author, authoredAt, message, agent } = entry;
  return {
    commit,
    parents,
    author: author.name,
    at: authoredAt.getTime(),
    message: names.shownText(message.slice(0, MESSAGE_LENGTH)),
    ...(agent === undefined ? {} : { agent }),
    ...files,
  };
}
