/** A branch as an area of files: any regular file and any directory, as one caller may read them. */
import { z } from 'zod';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import { findFile, type ListedFile, type ViewedFile } from '../brain/branch-view.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { decodeText, type EntryKind } from '../files/file-entry.ts';
import { inOrder, namesBelow, prefixOf, type TreeName } from '../storage/domain/tree-names.ts';
import { Slices } from '../thread/slices.ts';
import { type Seen, seen, shownFile, shownListed } from './files.ts';
import { decision, defineOperation, list, noteDenial, onBranch, page } from './operation.ts';

const PAST = { ...onBranch, at: z.string().nullable() };

/** Links are never followed, and what has no legal name is nobody's to name. */
export function isRegular(kind: EntryKind): boolean {
  return kind === 'text' || kind === 'binary' || kind === 'large';
}

export const Encoding = z.enum(['utf8', 'base64']);

const StoredPiece = z.strictObject({
  path: z.string(),
  content: z.string(),
  /** Of the whole file, as it is shown. */
  bytes: z.number(),
  /** Empty while the bytes are not read. */
  hash: z.string(),
  /** Where the next piece begins; null = this was the last one. */
  nextOffset: z.number().nullable(),
});
type StoredPiece = z.output<typeof StoredPiece>;

const PieceQuestion = z.strictObject({ ...PAST, path: z.string(), encoding: Encoding, offset: z.number() });
type PieceQuestion = z.output<typeof PieceQuestion>;

export const readStored = defineOperation({
  name: 'readStored',
  effect: 'read',
  namesCommits: false,
  question: PieceQuestion,
  answer: decision(StoredPiece, [...READ_REFUSALS, 'E_FILE_ABSENT', 'E_NOT_TEXT']),
  async run(served, question) {
    const state = await seen(served, question.branch, question.at);
    if (!state.ok) return state;
    const { path } = question;
    const piece = await pieceOf(state.value, question);
    const denied = piece.ok ? undefined : candidatePaths(path).find((candidate) => !served.rows.mayRead(candidate));
    if (denied !== undefined) noteDenial(served, denied, 'read');
    return piece;
  },
});

async function pieceOf(
  state: Seen,
  { path, encoding, offset }: PieceQuestion,
): Promise<Decision<StoredPiece, 'E_FILE_ABSENT' | 'E_NOT_TEXT'>> {
  const { view, rows } = state;
  const { file: found } = await findFile(view, path, rows.mayRead);
  if (found === null || !isRegular(found.kind)) return deny('E_FILE_ABSENT', { path });
  const bytes = await bytesOf(state, found, offset);
  if (bytes === null) return deny('E_FILE_ABSENT', { path });
  const isWhole = bytes.piece.byteLength === bytes.total;
  const text = encoding === 'utf8' && isWhole ? decodeText(bytes.piece) : null;
  if (encoding === 'utf8' && text === null)
    return deny('E_NOT_TEXT', { path: found.file, bytes: bytes.total }, isWhole ? undefined : IN_PIECES);
  const end = offset + bytes.piece.byteLength;
  return allow({
    path: found.file,
    content: text ?? Buffer.from(bytes.piece).toString('base64'),
    bytes: bytes.total,
    hash: rows.shownHash(state.state, found.file, found.hash),
    nextOffset: end < bytes.total && bytes.piece.byteLength > 0 ? end : null,
  });
}

/** One may end within a letter. */
const IN_PIECES = 'A file is text as a whole and up to 1 MiB; pieces are read as base64.';

interface Bytes {
  readonly piece: Uint8Array;
  readonly total: number;
}

/** Null when nothing of it must be shown, and when it went or changed meanwhile. */
async function bytesOf({ view, rows, state }: Seen, file: ViewedFile, offset: number): Promise<Bytes | null> {
  if (rows.hides(file.file)) {
    const shown = shownFile(rows, state, file);
    // What is no text may hold a hidden field in a form that nobody finds.
    if (shown === null || shown.text === null) return null;
    const whole = Buffer.from(shown.text, 'utf8');
    return { piece: whole.subarray(offset, offset + MAX_CONTENT_BYTES), total: whole.byteLength };
  }
  const piece = await view.readPiece(file.file, { offset, length: MAX_CONTENT_BYTES });
  return piece === null ? null : { piece, total: file.bytes };
}

const StoredName = z.strictObject({ path: z.string(), type: z.enum(['file', 'dir']) });
type StoredName = z.output<typeof StoredName>;

/** What lies at a path, for whom the caller is: null = nothing. */
export const findStored = defineOperation({
  name: 'findStored',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ ...PAST, path: z.string() }),
  answer: decision(StoredName.nullable(), READ_REFUSALS),
  async run(served, { branch, path, at }) {
    const state = await seen(served, branch, at);
    return state.ok ? allow(await nameAt(state.value, path)) : state;
  },
});

async function nameAt(state: Seen, path: string): Promise<StoredName | null> {
  if (path === '') return { path, type: 'dir' };
  const { file } = await findFile(state.view, path, state.rows.mayRead);
  const found = file !== null && isRegular(file.kind) ? file.file : null;
  if (found !== path && (await isFolder(state, path))) return { path, type: 'dir' };
  return found === null ? null : { path: found, type: 'file' };
}

async function isFolder({ view, rows }: Seen, path: string): Promise<boolean> {
  const prefix = prefixOf(path);
  for (const file of await view.paths()) if (file.startsWith(prefix) && rows.mayRead(file)) return true;
  return rows.mayRead(path) && view.isEmptyFolder(path);
}

export const StoredEntry = StoredName.extend({
  bytes: z.number().nullable(),
  hash: z.string().nullable(),
  modifiedAt: z.number().nullable(),
});
type StoredEntry = z.output<typeof StoredEntry>;

const FolderQuestion = z.strictObject({ ...PAST, ...page, directory: z.string(), deep: z.boolean() });
type FolderQuestion = z.output<typeof FolderQuestion>;

/** `directory` '' = the root. */
export const listStored = defineOperation({
  name: 'listStored',
  effect: 'read',
  namesCommits: false,
  question: FolderQuestion,
  answer: decision(z.strictObject({ entries: list(StoredEntry), next: z.string().nullable() }), [
    ...READ_REFUSALS,
    'E_FILE_ABSENT',
  ]),
  async run(served, question) {
    const state = await seen(served, question.branch, question.at);
    if (!state.ok) return state;
    const { directory, limit, after } = question;
    const names = await namesIn(state.value, question);
    if (names.length === 0 && directory !== '' && !(await isFolder(state.value, directory)))
      return deny('E_FILE_ABSENT', { dir: directory });
    const rest = names.filter(({ path }) => after === null || path > after);
    const some = rest.slice(0, limit);
    const entries = await described(state.value, some);
    return allow({ entries, next: rest.length > limit ? (some.at(-1)?.path ?? null) : null });
  },
});

async function namesIn({ view, rows }: Seen, { directory, deep }: FolderQuestion): Promise<TreeName[]> {
  const prefix = prefixOf(directory);
  const readable: string[] = [];
  const slices = new Slices();
  // A copy: what is there may change meanwhile.
  for (const path of Array.from(await view.paths())) {
    if (slices.isOver) await slices.pause();
    if (path.startsWith(prefix) && rows.mayRead(path)) readable.push(path);
  }
  const names = namesBelow(readable, directory, deep);
  const known = new Set(names.map(({ path }) => path));
  const empty = view.emptyFolders(directory).filter((path) => !known.has(path) && rows.mayRead(path));
  return empty.length === 0 ? names : inOrder([...names, ...empty.map((path) => ({ path, type: 'dir' as const }))]);
}

/** Links and what has no legal name are left out. */
async function described(state: Seen, names: readonly TreeName[]): Promise<StoredEntry[]> {
  const wanted = new Set(names.flatMap(({ path, type }) => (type === 'file' ? [path] : [])));
  const files = new Map<string, ListedFile>();
  for await (const listed of state.view.files((path) => wanted.has(path))) {
    const shown = state.rows.hides(listed.file) ? await shownListed(state, listed) : listed;
    if (shown !== null && isRegular(shown.kind)) files.set(listed.file, shown);
  }
  return names.flatMap(({ path, type }): StoredEntry[] => {
    if (type === 'dir') return [{ path, type, bytes: null, hash: null, modifiedAt: null }];
    const file = files.get(path);
    if (file === undefined) return [];
    const { bytes, hash, modifiedAt } = file;
    return [{ path, type, bytes, hash: hash === '' ? null : hash, modifiedAt }];
  });
}
