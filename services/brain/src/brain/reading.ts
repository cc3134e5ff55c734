/** What one subject reads of a branch or of a past state: readable files only, and of those what is shown. */
import { allow, deny, type Decision, type Denial } from '@svc/contract/decision.ts';
import type { RowView } from '../ports.ts';
import type { SearchAnswer, SearchResult } from '../search/search-answer.ts';
import { Slices } from '../search/slices.ts';
import { titleOfText } from '../search/title.ts';
import { type BranchView, findFile, type ViewedFile } from './branch-view.ts';
import type { BrainOps, FilePage, FileView, ListedFile, SearchRow } from './ops.ts';

type OpOf<Name extends keyof BrainOps> = Parameters<BrainOps[Name]>[0];

export interface Seen {
  readonly view: BranchView;
  readonly rows: RowView;
  /** The branch, or the commit that was asked for. */
  readonly state: string;
}

export async function readFile(
  { view, rows, state }: Seen,
  { path, branch }: OpOf<'read'>,
): Promise<Decision<FileView, 'E_FILE_ABSENT' | 'E_NOT_TEXT'>> {
  const { file: found, candidates } = await findFile(view, path, rows.mayRead);
  const file = found === null ? null : shownFile(rows, state, found);
  if (file === null) return absent(path, candidates);
  const { text: content, kind, problem, ...rest } = file;
  if (content === null) return deny('E_NOT_TEXT', { file: file.file, kind }, notServed(file.file, problem));
  const dirty = view.isDirty(file.file);
  return allow({ ...rest, content, branch, commit: dirty ? null : view.commit, dirty });
}

function absent(file: string, candidates: readonly string[]): Denial<'E_FILE_ABSENT'> {
  if (candidates.length === 0) return deny('E_FILE_ABSENT', { file });
  return deny('E_FILE_ABSENT', { file, candidates }, `No such file; it may be one of ${candidates.join(', ')}.`);
}

function notServed(file: string, problem: string | null): string {
  return `${file} ${problem ?? 'is not UTF-8 text'}.`;
}

/** Null when nothing of it must be shown. */
function shownFile(rows: RowView, state: string, file: ViewedFile): ViewedFile | null {
  if (!rows.hides(file.file)) return file;
  const hash = rows.shownHash(state, file.file, file.hash);
  if (file.text === null) return { ...file, hash };
  const text = rows.shown(file.file, file.text);
  return text === null ? null : { ...file, hash, text, bytes: Buffer.byteLength(text) };
}

export async function listFiles(seen: Seen, op: OpOf<'list'>): Promise<FilePage> {
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

async function shownListed({ view, rows, state }: Seen, { file }: ListedFile): Promise<ListedFile | null> {
  const found = await view.read(file);
  const shown = found === null ? null : shownFile(rows, state, found);
  if (shown === null) return null;
  const { text: _text, ...listed } = shown;
  return listed;
}

async function described(
  { view, rows }: Seen,
  page: readonly ListedFile[],
  { withContent, withTitle }: OpOf<'list'>,
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

export async function searchFiles(
  { view, rows, state }: Seen,
  { query, mode, limit, group, explain, pathPrefix }: OpOf<'search'>,
): Promise<{ rows: SearchRow[]; total: number }> {
  return view.ask(rows.chains, (files) => {
    const search = (): SearchAnswer =>
      files.under(rows.chains).search({
        query,
        mode,
        limit,
        group,
        explain,
        admitted: rows.admitted(),
        ...(pathPrefix === null ? {} : { pathPrefix }),
      });
    const isStale = ({ file }: SearchResult): boolean => !files.isUnder(rows.chains, file);
    let answer = search();
    const stale = answer.results.filter(isStale);
    for (const { file } of stale) files.arrangeAgain(rows.chains, file);
    if (stale.length > 0) answer = search();
    // Once more where it leaves: whatever the index holds, nothing goes out that the rules do not let this subject have.
    const found = answer.results.filter((row) => rows.mayRead(row.file) && !isStale(row));
    const shown = found.map((row) => ({
      ...row,
      hash: rows.shownHash(state, row.file, files.hashOf(row.file) ?? row.hash),
      commit: view.isDirty(row.file) ? null : view.commit,
    }));
    return { rows: shown, total: answer.total - (answer.results.length - found.length) };
  });
}
