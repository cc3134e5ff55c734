/** The files of a branch as one caller reads and writes them: readable ones only, and of those what is shown. */
import { z } from 'zod';
import { allow, deny, type Decision, type Denial } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import { type BranchView, findFile, ListedFile, type ViewedFile, withoutContent } from '../brain/branch-view.ts';
import { READ_REFUSALS, type ReadRefusal, WRITE_REFUSALS, type WriteRefusal } from '../brain/open-brain.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { RowView } from '../ports.ts';
import { Slices } from '../thread/slices.ts';
import { titleOfText } from '../search/title.ts';
import { FileOutcome, type FileRequest } from '../writer/staging.ts';
import {
  decision,
  defineOperation,
  list,
  noteDenial,
  onBranch,
  once,
  page,
  type Served,
  unkeyed,
} from './operation.ts';
import { auditedWrite } from './step.ts';

export interface Seen {
  readonly view: BranchView;
  readonly rows: RowView;
  /** The branch, or the commit that was asked for. */
  readonly state: string;
}

export async function seen(
  { brain, rows }: Served,
  branch: string,
  at: string | null,
): Promise<Decision<Seen, ReadRefusal>> {
  const found = await brain.view(branch, at === null ? null : { at, rows });
  return found.ok ? allow({ view: found.value, rows, state: at === null ? branch : found.value.commit }) : found;
}

export const FileView = z.strictObject({
  file: z.string(),
  content: z.string(),
  bytes: z.number(),
  hash: z.string(),
  branch: z.string(),
  /** The branch's head when the file is as committed there, else null. */
  commit: z.string().nullable(),
  dirty: z.boolean(),
  /** Milliseconds since the epoch; null for past states. */
  modifiedAt: z.number().nullable(),
});
export type FileView = z.output<typeof FileView>;

export const readFile = defineOperation({
  name: 'read',
  effect: 'read',
  question: z.strictObject({ ...onBranch, path: z.string(), at: z.string().nullable() }),
  answer: decision(FileView, [...READ_REFUSALS, 'E_FILE_ABSENT', 'E_NOT_TEXT']),
  async run(served, { branch, path, at }) {
    const state = await seen(served, branch, at);
    if (!state.ok) return state;
    const file = await readSeen(state.value, path, branch);
    // Whether there is a file that may not be read makes no difference, to the answer and to the audit.
    const denied = file.ok ? undefined : candidatePaths(path).find((candidate) => !served.rows.mayRead(candidate));
    if (denied !== undefined) noteDenial(served, denied, 'read');
    return file;
  },
});

async function readSeen(
  { view, rows, state }: Seen,
  path: string,
  branch: string,
): Promise<Decision<FileView, 'E_FILE_ABSENT' | 'E_NOT_TEXT'>> {
  const { file: found, candidates } = await findFile(view, path, rows.mayRead);
  const file = found === null ? null : shownFile(rows, state, found);
  if (file === null) return absent(path, candidates);
  const { text: content, kind, problem, bytes, hash, modifiedAt } = file;
  if (content === null) return deny('E_NOT_TEXT', { file: file.file, kind }, notServed(file.file, problem));
  const dirty = view.isDirty(file.file);
  const commit = dirty ? null : view.commit;
  return allow({ file: file.file, content, bytes, hash, modifiedAt, branch, commit, dirty });
}

function absent(file: string, candidates: readonly string[]): Denial<'E_FILE_ABSENT'> {
  if (candidates.length === 0) return deny('E_FILE_ABSENT', { file });
  return deny('E_FILE_ABSENT', { file, candidates }, `No such file; it may be one of ${candidates.join(', ')}.`);
}

function notServed(file: string, problem: string | null): string {
  return `${file} ${problem ?? 'is not UTF-8 text'}.`;
}

/** Null when nothing of it must be shown. */
export function shownFile(rows: RowView, state: string, file: ViewedFile): ViewedFile | null {
  if (!rows.hides(file.file)) return file;
  const hash = rows.shownHash(state, file.file, file.hash);
  if (file.text === null) return { ...file, hash };
  const text = rows.shown(file.file, file.text);
  return text === null ? null : { ...file, hash, text, bytes: Buffer.byteLength(text) };
}

const FilePage = z.strictObject({
  files: list(ListedFile.extend({ title: z.string().exactOptional(), content: z.string().exactOptional() })),
  /** The last file of the page when there are more. */
  next: z.string().nullable(),
});
type FilePage = z.output<typeof FilePage>;

const ListQuestion = z.strictObject({
  ...onBranch,
  category: z.string().nullable(),
  at: z.string().nullable(),
  ...page,
  withContent: z.boolean(),
  withTitle: z.boolean(),
});
type ListQuestion = z.output<typeof ListQuestion>;

export const listFiles = defineOperation({
  name: 'list',
  effect: 'read',
  question: ListQuestion,
  answer: decision(FilePage, READ_REFUSALS),
  async run(served, question) {
    const state = await seen(served, question.branch, question.at);
    return state.ok ? allow(await pageOf(state.value, question)) : state;
  },
});

async function pageOf(seen: Seen, op: ListQuestion): Promise<FilePage> {
  const prefix = op.category === null || op.category === '' ? '' : `${op.category}/`;
  const isWanted = (file: string): boolean =>
    file.startsWith(prefix) && (op.after === null || file > op.after) && seen.rows.mayRead(file);
  const page: ListedFile[] = [];
  const slices = new Slices();
  for await (const listed of seen.view.files(isWanted)) {
    if (slices.isOver) await slices.pause();
    const shown = seen.rows.hides(listed.file) ? await shownListed(seen, listed) : listed;
    if (shown === null) continue;
    if (page.length === op.limit) return { files: await described(seen, page, op), next: page.at(-1)?.file ?? null };
    page.push(shown);
  }
  return { files: await described(seen, page, op), next: null };
}

/** Null when nothing of it must be shown. */
export async function shownListed({ view, rows, state }: Seen, { file }: ListedFile): Promise<ListedFile | null> {
  const found = await view.read(file);
  const shown = found === null ? null : shownFile(rows, state, found);
  return shown === null ? null : withoutContent(shown);
}

async function described(
  { view, rows }: Seen,
  page: readonly ListedFile[],
  { withContent, withTitle }: ListQuestion,
): Promise<FilePage['files']> {
  if (!withContent && !withTitle) return page;
  const rowsOfPage: (ListedFile & { title?: string; content?: string })[] = [];
  const slices = new Slices();
  for (const row of page) {
    if (slices.isOver) await slices.pause();
    const file = await view.read(row.file);
    if (file === null || file.text === null) continue;
    const shown = rows.shown(row.file, file.text);
    if (shown === null || (!rows.hides(row.file) && file.hash !== row.hash)) continue;
    const title = shownTitle(rows, row.file, file.text);
    rowsOfPage.push({ ...row, title, ...(withContent ? { content: shown } : {}) });
  }
  return rowsOfPage;
}

/** As the search knows it: of what is shown, without masked fields. */
function shownTitle({ chains, hides }: RowView, path: string, text: string): string {
  const known = hides(path) ? chains.chainOf(path).indexed(path, text) : text;
  return known === null ? path : titleOfText(path, known);
}

/** Writes or removes one file. */
export const changeFile = defineOperation({
  name: 'change',
  effect: 'write',
  question: z.strictObject({
    ...onBranch,
    /** As the caller named it; the extension rule has not been applied yet. */
    path: z.string(),
    /** Null removes the file. */
    content: z.string().nullable(),
    /** Hash the file must have now, `none` = it must not exist, null = whatever it is. */
    ifMatch: z.string().nullable(),
  }),
  answer: once(FileOutcome, WRITE_REFUSALS),
  run: (served, { content, ...change }) =>
    changeOne(served, { ...change, content: content === null ? null : Buffer.from(content, 'utf8') }),
});

type OneChange = Omit<FileRequest, 'rows'> & { readonly branch: string };

/** In a batch with whatever else waits for the writer. Throws VAF_PATH_BLOCKED, RLS_DENIED, E_ISLAND_WRITE_DENIED. */
export function changeOne(served: Served, { branch, ...change }: OneChange): Promise<Once<FileOutcome, WriteRefusal>> {
  return auditedWrite(served, change.path, async () => {
    const { brain, context, rows } = served;
    const writer = await brain.writer(branch);
    return writer.ok ? writer.value.change({ ...change, rows }, context) : unkeyed(writer);
  });
}
