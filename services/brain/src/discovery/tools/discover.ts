/** brain_discover: who and what there is that has to do with a question. */
import { CallError } from '@svc/contract/codes.ts';
import { brainAndBranch, PlainText } from '@svc/contract/params.ts';
import { identityOf, UserCtx } from '@svc/contract/subject.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { scopeOf } from '../../memory/tools/scope.ts';
import { modelsFor } from '../../retrieval/models.ts';
import { HYBRID } from '../../retrieval/ways.ts';
import { rerank } from '../../search/rerank.ts';
import { describePrototypes } from '../../skills/tools/prototypes.ts';
import { islandsOfStack } from '../../tools/island-reading.ts';
import {
  type CallContext,
  present,
  PRESENT_REFUSES,
  READ_RAISES,
  readableBrains,
  resolveReads,
} from '../../tools/target.ts';

const DEFAULT_RESULTS = 5;
/** Of each kind so many are looked at. */
const MOST = 1000;
const PREVIEW_LENGTH = 200;

const found = z.strictObject({
  id: z.string(),
  name: z.string(),
  score: z.number(),
  preview: z.string().describe('The beginning of what is known of it.'),
});
const ranked = z.array(found);

interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly about: string;
}

/** Those that have a word of the query, the best first. */
async function best(query: string, candidates: readonly Candidate[], limit: number): Promise<z.output<typeof found>[]> {
  const documents = candidates.map(({ name, about }) => ({ title: name, content: about }));
  const order = await rerank(query, documents, limit);
  return order.flatMap(({ index, score }) => {
    const candidate = candidates[index];
    if (candidate === undefined || score <= 0) return [];
    const { id, name, about } = candidate;
    return [{ id, name, score, preview: about.slice(0, PREVIEW_LENGTH) }];
  });
}

/** Null when the registry does not answer. */
async function agentsSeenBy({ deps, caller }: CallContext, asOneself: boolean): Promise<Candidate[] | null> {
  const viewer = { agentId: identityOf(caller.subject), bound: caller.token?.bound ?? null };
  try {
    const { agents } = await deps.agents({ viewer: caller.operator && asOneself ? null : viewer, limit: MOST });
    return agents.map(({ id, name, role, team }) => ({ id, name, about: [role, team].filter(Boolean).join(', ') }));
  } catch (error) {
    if (error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE') return null;
    throw error;
  }
}

async function insightsOf(
  context: CallContext,
  wish: { readonly userCtx?: UserCtx | undefined },
): Promise<Candidate[]> {
  const rows = await context.deps.relations.insights((await scopeOf(context, wish)) ?? '', MOST);
  return rows.map(({ id, insight, tags }) => ({ id, name: tags.join(', '), about: insight }));
}

async function brainsOf(context: CallContext): Promise<Candidate[]> {
  const readable = await readableBrains(context);
  return readable.slice(0, MOST).map(({ name }) => ({ id: name, name: wordsOf(name), about: '' }));
}

/** A name as words: `team-harbour.notes` is about the harbour. */
function wordsOf(name: string): string {
  return name.replaceAll(/[-_./]+/g, ' ');
}

const discover = defineTool({
  name: 'brain_discover',
  area: 'brain',
  description: 'Finds agents, skills, insights, islands, brains and files that have to do with a question.',
  input: z.strictObject({
    query: PlainText.max(2000).default('').describe('Words to look for.'),
    limit: z.int().min(1).max(50).default(DEFAULT_RESULTS).describe('Results of each kind.'),
    ...brainAndBranch,
    userCtx: UserCtx.optional(),
  }),
  output: z.strictObject({
    query: z.string(),
    agents: ranked,
    skills: ranked,
    insights: ranked,
    islands: ranked,
    brains: ranked,
    files: ranked,
    degraded: z
      .array(z.enum(['agents', 'semantic', 'model']))
      .optional()
      .describe('What could not be asked.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  example: { query: 'harbour' },
  async handler({ query, limit, ...wish }, context) {
    if (query.trim() === '') {
      return { query: '', agents: [], skills: [], insights: [], islands: [], brains: [], files: [] };
    }
    const targets = await resolveReads(context, wish);
    const models = modelsFor(context, HYBRID.need);
    const request = { query, limit, explain: false, group: 'file', pathPrefix: null, models, mode: 'hybrid' } as const;
    const files = context.take(present(await HYBRID.search(targets, request))).rows;
    const islands = context.take(present(await islandsOfStack(context, wish, null)));
    const skills = context.take(present(await describePrototypes(targets, MOST)));
    const agents = await agentsSeenBy(context, wish.userCtx === undefined);
    const degraded = [...(agents === null ? (['agents'] as const) : []), ...models.degraded()];
    const known = islands.filter(({ island }) => island.enabled && !island.invalid).slice(0, MOST);
    return {
      query,
      agents: await best(query, agents ?? [], limit),
      skills: await best(
        query,
        skills.map(({ name, description }) => ({ id: name, name: wordsOf(name), about: description })),
        limit,
      ),
      insights: await best(query, await insightsOf(context, wish), limit),
      islands: await best(
        query,
        known.map(({ island: { name, description, triggers } }) => ({
          id: name,
          name: wordsOf(name),
          about: [description, ...triggers].filter(Boolean).join(', '),
        })),
        limit,
      ),
      brains: await best(query, await brainsOf(context), limit),
      files: files.map(({ file, title, score, snippet }) => ({ id: file, name: title, score, preview: snippet })),
      ...(degraded.length === 0 ? {} : { degraded }),
    };
  },
});

export const discoveryTools = [discover];
