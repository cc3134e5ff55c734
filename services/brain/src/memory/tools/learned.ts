/** svc_memory_learn, _query, _clear and _stats: documents, and how much there is of everything. */
import { z } from 'zod';
import { brainAndBranch, FileContent, ifMatch, leaseGuard, Sha256Hex } from '@svc/contract/params.ts';
import { isFilePath, normalPath } from '@svc/contract/names.ts';
import { checkedPath } from '../../blocked-path.ts';
import { defineTool } from '../../deps.ts';
import { readFile } from '../../tools/reading.ts';
import { WORDS_ALONE } from '../../retrieval/models.ts';
import { searchStack, shownResult, shownRow } from '../../retrieval/found.ts';
import { present, READ_RAISES, resolveReads, resolveWrite, settled, WRITE_RAISES } from '../../tools/target.ts';
import { learnedPath } from '../domain/learned.ts';
import { learn as learnOperation } from '../operations.ts';

const LEARN_REFUSES = [
  'E_LOCKED',
  'E_FENCED',
  'E_READ_ONLY',
  'E_BRAIN_DIVERTED',
  'E_STATE_WRITE',
  'E_BRANCH_ABSENT',
  'E_LIMIT',
  'E_QUOTA',
  'E_CONFLICT',
] as const;

const learn = defineTool({
  name: 'svc_memory_learn',
  area: 'memory',
  description: 'Writes a document that searches find: a file under the key, or in memory/ when the key has no slash.',
  input: z.strictObject({
    key: z.string().min(1).max(512).overwrite(normalPath).describe('A path, or the name of a file in memory/.'),
    content: FileContent,
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject({
    learned: z.literal(true),
    success: z.literal(true),
    key: z.string(),
    file: z.string(),
    hash: Sha256Hex,
    changed: z.boolean(),
    duplicateOf: z.string().nullable().describe('Another file with the same bytes.'),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: LEARN_REFUSES,
  raises: WRITE_RAISES,
  dress: { learned: false },
  example: { key: 'go/errors', content: 'Wrap an error with %w.' },
  async handler({ key, content, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const path = checkedPath(learnedPath(key));
    const question = { branch, key, path, content, ifMatch: wish.ifMatch ?? null };
    const { file, hash, changed, duplicateOf } = context.take(settled(context, await ask(learnOperation, question)));
    return { learned: true as const, success: true as const, key, file, hash, changed, duplicateOf, brain, branch };
  },
});

const query = defineTool({
  name: 'svc_memory_query',
  area: 'memory',
  description: 'Finds the document that was learned under a key, and what else a search for it brings up.',
  input: z.strictObject({
    key: z.string().min(1).max(2000).describe('A key, or words to look for.'),
    limit: z.int().min(1).max(100).default(10).describe('Results.'),
    ...brainAndBranch,
  }),
  output: z.strictObject({
    key: z.string(),
    found: z.boolean().describe('There is a document under exactly this key.'),
    content: z.string().nullable(),
    file: z.string().nullable(),
    results: z.array(shownResult),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BRANCH_ABSENT'],
  raises: READ_RAISES,
  aliases: { topK: 'limit' },
  example: { key: 'wrapping errors' },
  async handler({ key, limit, ...wish }, context) {
    const path = learnedPath(normalPath(key));
    const exact = isFilePath(path) ? await readFile(context, path, wish) : null;
    if (exact?.ok === false && exact.code === 'E_BRANCH_ABSENT') throw context.refuse('E_BRANCH_ABSENT', exact.details);
    const view = exact?.ok === true ? exact.value.view : null;
    const request = {
      query: key,
      mode: 'hybrid',
      limit,
      group: 'file',
      pathPrefix: null,
      models: WORDS_ALONE,
      explain: false,
    } as const;
    const rows =
      key.trim() === ''
        ? []
        : context.take(present(await searchStack(await resolveReads(context, wish), request))).rows;
    return {
      key,
      found: view !== null,
      content: view?.content ?? null,
      file: view?.file ?? null,
      results: rows.map(shownRow),
    };
  },
});

export const learnedTools = [learn, query];
