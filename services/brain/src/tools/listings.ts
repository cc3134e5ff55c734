/** Lists of a brain's files. */
import { z } from 'zod';
import { at, brainAndBranch, page, PathText, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { checkedPath } from '../blocked-path.ts';
import { defineTool } from '../deps.ts';
import { listFiles as listOf } from '../operations/files.ts';
import { cursorAfter, entryKind, nextCursor } from './results.ts';
import {
  PATH_RAISES,
  present,
  PRESENT_REFUSES,
  READ_RAISES,
  READ_REFUSES,
  resolveTarget,
  splitPath,
} from './target.ts';

const listFiles = defineTool({
  name: 'brain_list_files',
  area: 'brain',
  description: 'Lists the files of a brain, or of one category, also those that are not served.',
  input: z.strictObject({
    category: PathText.optional().describe('Directory to list, with all below it.'),
    ...brainAndBranch,
    ...at,
    ...page,
  }),
  output: z.strictObject({
    files: z.array(
      z.strictObject({
        name: z.string(),
        file: z.string(),
        category: z.string(),
        filename: z.string(),
        bytes: z.int(),
        hash: Sha256Hex.nullable().describe('Null where the bytes are not read.'),
        modifiedAt: TimestampMs.nullable(),
        kind: entryKind,
        problem: z.string().nullable().describe('Why it is not served, or not written, as the end of a sentence.'),
      }),
    ),
    brain: z.string(),
    branch: z.string(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: PATH_RAISES,
  example: { category: 'learnings' },
  async handler({ category, limit, cursor, ...wish }, context) {
    const { ask, brain, branch } = await resolveTarget(context, wish);
    const listing = await ask(listOf, {
      branch,
      category: category === undefined || category === '' ? null : checkedPath(category),
      at: wish.at ?? null,
      ...positionOf(limit, cursor),
      withContent: false,
      withTitle: false,
    });
    const { files, next } = context.take(listing);
    const rows = files.map(({ file, bytes, hash, modifiedAt, kind, problem }) => ({
      name: file,
      file,
      ...splitPath(file),
      bytes,
      hash: hash === '' ? null : hash,
      modifiedAt,
      kind,
      problem,
    }));
    return { files: rows, brain, branch, ...cursorAfter(next) };
  },
});

const corpus = defineTool({
  name: 'brain_corpus',
  area: 'brain',
  description: 'Lists the text files of a brain with their titles, and their content when asked.',
  input: z.strictObject({
    content: z.boolean().optional().describe('With the text of each file.'),
    ...brainAndBranch,
    ...page,
  }),
  output: z.strictObject({
    corpus: z.array(
      z.strictObject({
        file: z.string(),
        title: z.string(),
        bytes: z.int(),
        hash: Sha256Hex,
        modifiedAt: TimestampMs.nullable(),
        content: z.string().optional(),
      }),
    ),
    count: z.int(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  async handler({ content = false, limit, cursor, ...wish }, context) {
    const { ask, branch } = await resolveTarget(context, wish);
    const position = positionOf(limit, cursor);
    const all = { branch, category: null, at: null, ...position, withContent: content, withTitle: true };
    const { files, next } = context.take(present(await ask(listOf, all)));
    const rows = files.map(({ title = '', kind: _kind, problem: _problem, ...file }) => ({ ...file, title }));
    return { corpus: rows, count: rows.length, ...cursorAfter(next) };
  },
});

export const listingTools = [listFiles, corpus];
