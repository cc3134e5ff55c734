/** The documents of a collection in an index, which is asked as the service asks a brain. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { expandQuery, FEEDBACK_PASSAGES, searchFiles } from '../services/brain/src/operations/search.ts';
import type { SearchTarget } from '../services/brain/src/retrieval/found.ts';
import { MeantWord, type SearchAnswer, type SearchRequest } from '../services/brain/src/search/search-answer.ts';
import { SearchIndex } from '../services/brain/src/search/search-index.ts';
import type { Brain } from './collections.ts';

interface IndexedCollection {
  readonly index: SearchIndex;
  idOf(file: string): string;
  contentOf(file: string): string;
}

export function indexOf({ docs }: Pick<Brain, 'docs'>): IndexedCollection {
  const index = new SearchIndex();
  const contents = docs.map(({ title, text }) => (title === '' ? `${text}\n` : `# ${title}\n\n${text}\n`));
  for (const [number, content] of contents.entries()) {
    const hash = createHash('sha256').update(content).digest('hex');
    const id = docs[number]?.id ?? '';
    index.set({ file: `${number}-${id.replaceAll('/', '-')}.md`, content, hash, chain: 0 });
  }
  const numberOf = (file: string): number => Number(file.slice(0, file.indexOf('-')));
  return {
    index,
    idOf: (file) => docs[numberOf(file)]?.id ?? '',
    contentOf: (file) => contents[numberOf(file)] ?? '',
  };
}

/** What is asked of a whole brain without rules; the rest of the questions is always the same here. */
const Question = z.object({
  query: z.string(),
  within: z.string().exactOptional(),
  meant: z.array(MeantWord).exactOptional(),
  mode: z.enum(['plain', 'hybrid', 'semantic']).default('plain'),
  limit: z.number().default(FEEDBACK_PASSAGES),
  group: z.enum(['file', 'passage']).default('passage'),
});

/** With the texts that it has to show. */
function searchWhole({ index, contentOf }: IndexedCollection, request: SearchRequest): SearchAnswer {
  const answer = index.search(request);
  const missing = index.texts.takeMissing();
  if (missing.length === 0) return answer;
  for (const shown of missing) index.texts.lend(shown, contentOf(shown.file));
  return index.texts.endLoan(index.search(request));
}

function answerTo(operation: string, collection: IndexedCollection, asked: unknown): unknown {
  const question = Question.parse(asked);
  const answer = searchWhole(collection, { ...question, admitted: null, explain: false });
  const { total, understood, corrected, absent } = answer;
  const rows = answer.results.map((row) => ({ ...row, commit: null }));
  const told = { corrected, absent };
  if (operation === searchFiles.name) return { ok: true, value: { ...told, rows, total, understood, lacking: null } };
  if (operation !== expandQuery.name) throw new Error(`nobody answers ${operation} here`);
  const words = collection.index.expand(question.query, null, rows);
  return { ok: true, value: { ...told, words, passages: rows } };
}

export function targetOf(collection: IndexedCollection): SearchTarget {
  return {
    brain: 'collection',
    branch: 'main',
    ask: async (operation, question) => operation.answerOf(answerTo(operation.name, collection, question)),
  };
}
