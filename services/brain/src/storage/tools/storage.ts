/** svc_storage_*: the working tree of a branch as an area of files, with directories and bytes of any kind. */
import { z } from 'zod';
import { at, brainAndBranch, ifMatch, leaseGuard, page, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../../deps.ts';
import { findStored, listStored, readStored } from '../../operations/storage.ts';
import { makeStored, writeStored } from '../../operations/storage-changes.ts';
import { copyStored, removeStored } from '../../operations/storage-trees.ts';
import { firstAnswer } from '../../tools/reading.ts';
import { cursorAfter, nextCursor } from '../../tools/results.ts';
import {
  type CallContext,
  CHANGE_RAISES,
  CHANGE_REFUSES,
  PATH_RAISES,
  READ_REFUSES,
  resolveReads,
  resolveTarget,
  resolveWrite,
  settled,
  splitPath,
  type TargetWish,
  WRITE_RAISES,
} from '../../tools/target.ts';
import { checkedContent, content, directory, encoding, folderAt, path, pathBelowRoot } from './shapes.ts';

const read = defineTool({
  name: 'svc_storage_read',
  area: 'storage',
  description: 'Reads a file of any kind; one over 1 MiB in pieces.',
  input: z.strictObject({
    path,
    encoding,
    offset: z.int().min(0).optional().describe('Where to begin, in bytes; a piece has at most 1 MiB.'),
    ...brainAndBranch,
    ...at,
  }),
  output: z.strictObject({
    path: z.string(),
    content: z.string(),
    encoding: z.enum(['utf8', 'base64']),
    bytes: z.int().describe('Of the whole file.'),
    hash: Sha256Hex.nullable().describe('Null while the bytes of a large file are not read.'),
    nextOffset: z.int().optional().describe('Where the next piece begins; absent after the last one.'),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_FILE_ABSENT', 'E_NOT_TEXT'],
  raises: PATH_RAISES,
  example: { path: 'pictures/map.png', encoding: 'base64' },
  async handler({ path: named, encoding: as = 'utf8', offset = 0, ...wish }, context) {
    const question = { path: pathBelowRoot(named), encoding: as, offset, at: wish.at ?? null };
    const answer = await firstAnswer(await resolveReads(context, wish), ({ ask, branch }) =>
      ask(readStored, { ...question, branch }),
    );
    const { target, value } = context.take(answer);
    const { nextOffset, hash, ...piece } = value;
    const { brain, branch } = target;
    const next = nextOffset === null ? {} : { nextOffset };
    return { ...piece, encoding: as, hash: hash === '' ? null : hash, ...next, brain, branch };
  },
});

const exists = defineTool({
  name: 'svc_storage_exists',
  area: 'storage',
  description: 'Whether there is a file or a directory of that name.',
  input: z.strictObject({ path, ...brainAndBranch, ...at }),
  output: z.strictObject({ path: z.string(), exists: z.boolean(), type: z.enum(['file', 'dir']).nullable() }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: PATH_RAISES,
  example: { path: 'pictures/map.png' },
  async handler({ path: named, ...wish }, context) {
    const wanted = folderAt(named);
    for (const { ask, branch } of await resolveReads(context, wish)) {
      const found = context.take(await ask(findStored, { branch, path: wanted, at: wish.at ?? null }));
      if (found !== null) return { path: found.path, exists: true, type: found.type };
    }
    return { path: wanted, exists: false, type: null };
  },
});

const entry = z.strictObject({
  name: z.string(),
  path: z.string(),
  type: z.enum(['file', 'dir']),
  bytes: z.int().nullable().describe('Null of a directory.'),
  hash: Sha256Hex.nullable(),
  modifiedAt: TimestampMs.nullable(),
});
const listing = z.strictObject({ dir: z.string(), entries: z.array(entry), ...nextCursor });

interface ListWish extends TargetWish {
  readonly dir?: string | undefined;
  readonly at?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

async function listed(context: CallContext, { dir = '', limit, cursor, ...wish }: ListWish, deep: boolean) {
  const folder = folderAt(dir);
  const { ask, branch } = await resolveTarget(context, wish);
  const question = { branch, directory: folder, deep, at: wish.at ?? null, ...positionOf(limit, cursor) };
  const answer = await ask(listStored, question);
  if (!answer.ok) return answer;
  const entries = answer.value.entries.map((row) => ({ name: splitPath(row.path).filename, ...row }));
  return { ok: true as const, value: { dir: folder, entries, ...cursorAfter(answer.value.next) } };
}

const list = defineTool({
  name: 'svc_storage_list',
  area: 'storage',
  description: 'Lists the files and directories that lie in a directory.',
  input: z.strictObject({ dir: directory, ...brainAndBranch, ...at, ...page }),
  output: listing,
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_FILE_ABSENT'],
  raises: PATH_RAISES,
  example: { dir: 'pictures' },
  handler: async (input, context) => context.take(await listed(context, input, false)),
});

const listRecursive = defineTool({
  name: 'svc_storage_listRecursive',
  area: 'storage',
  description: 'Lists every file below a directory, and the directories they lie in, sorted by path.',
  input: z.strictObject({ dir: directory.optional(), ...brainAndBranch, ...at, ...page }),
  output: listing,
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_FILE_ABSENT'],
  raises: PATH_RAISES,
  example: { dir: 'pictures' },
  handler: async (input, context) => context.take(await listed(context, input, true)),
});

const write = defineTool({
  name: 'svc_storage_write',
  area: 'storage',
  description: 'Writes a file of any kind, binary ones too; the reply leaves when the bytes are durable.',
  input: z.strictObject({ path, content, encoding, ...brainAndBranch, ...leaseGuard, ...ifMatch }),
  output: z.strictObject({
    written: z.literal(true),
    path: z.string(),
    hash: Sha256Hex,
    bytes: z.int(),
    changed: z.boolean(),
    created: z.boolean(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [...CHANGE_REFUSES, 'E_QUOTA', 'E_CONFLICT'],
  raises: WRITE_RAISES,
  example: { path: 'pictures/dot.gif', content: 'R0lGODlhAQABAAAAACw=', encoding: 'base64' },
  async handler({ path: named, content: given, encoding: as = 'utf8', ...wish }, context) {
    checkedContent(given, as);
    const wanted = pathBelowRoot(named);
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const change = {
      branch,
      path: wanted,
      content: given,
      encoding: as,
      isOfBytes: true,
      ifMatch: wish.ifMatch ?? null,
    };
    const { file, ...written } = context.take(settled(context, await ask(writeStored, change)));
    return { written: true as const, path: file, ...written, brain, branch };
  },
});

const copy = defineTool({
  name: 'svc_storage_cp',
  area: 'storage',
  description: 'Copies a file, or a directory with everything in it that the caller may read: all of it or nothing.',
  input: z.strictObject({
    src: path,
    dest: path.describe('What the copy is called; of a file without an extension, that of the original is taken.'),
    overwrite: z.boolean().optional().describe('Replaces files that are there already.'),
    ...brainAndBranch,
    ...leaseGuard,
  }),
  output: z.strictObject({
    copied: z.literal(true),
    src: z.string(),
    dest: z.string(),
    files: z.int(),
    bytes: z.int(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...CHANGE_REFUSES, 'E_QUOTA', 'E_CONFLICT', 'E_FILE_ABSENT', 'E_FILE_EXISTS'],
  raises: WRITE_RAISES,
  example: { src: 'pictures', dest: 'archive/pictures' },
  async handler({ src, dest, overwrite = false, ...wish }, context) {
    const [from, to] = [pathBelowRoot(src), pathBelowRoot(dest)];
    const { ask, branch } = await resolveWrite(context, wish);
    const copied = context.take(settled(context, await ask(copyStored, { branch, from, to, overwrite })));
    return { copied: true as const, src: from, ...copied };
  },
});

const remove = defineTool({
  name: 'svc_storage_rm',
  area: 'storage',
  description: 'Removes a file or an empty directory; with recursive, a directory and everything in it, or nothing.',
  input: z.strictObject({
    path,
    recursive: z.boolean().optional().describe('With everything in the directory.'),
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject({ removed: z.literal(true), path: z.string(), files: z.int() }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [...CHANGE_REFUSES, 'E_CONFLICT', 'E_FILE_ABSENT', 'E_DIR_NOT_EMPTY'],
  raises: WRITE_RAISES,
  dress: { removed: false },
  async handler({ path: named, recursive = false, ...wish }, context) {
    const wanted = pathBelowRoot(named);
    const { ask, branch } = await resolveWrite(context, wish);
    const removal = { branch, path: wanted, recursive, ifMatch: wish.ifMatch ?? null };
    const removed = context.take(settled(context, await ask(removeStored, removal)));
    return { removed: true as const, ...removed };
  },
});

const makeDirectory = defineTool({
  name: 'svc_storage_mkdir',
  area: 'storage',
  description: 'Makes a directory, with those above it. Git keeps none without a file in it.',
  input: z.strictObject({ dir: directory, ...brainAndBranch, ...leaseGuard }),
  output: z.strictObject({ created: z.literal(true), dir: z.string(), existed: z.boolean() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [...CHANGE_REFUSES, 'E_FILE_EXISTS'],
  raises: [...CHANGE_RAISES, 'VAF_PATH_BLOCKED'],
  example: { dir: 'pictures/2026' },
  async handler({ dir, ...wish }, context) {
    const folder = folderAt(dir);
    const { ask, branch } = await resolveWrite(context, wish);
    if (folder === '') return { created: true as const, dir: folder, existed: true };
    const { existed } = context.take(settled(context, await ask(makeStored, { branch, directory: folder })));
    return { created: true as const, dir: folder, existed };
  },
});

export const storageTools = [read, exists, list, listRecursive, write, copy, remove, makeDirectory];
