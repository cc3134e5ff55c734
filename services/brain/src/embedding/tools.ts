/** Texts as vectors, and how near two of them are: by the built-in embedder, or by the model that is set up. */
import { z } from 'zod';
import type { BrainDeps } from '../deps.ts';
import { defineTool } from '../deps.ts';
import { type CallContext, requireIdentity } from '../tools/target.ts';
import { cosineOf, rounded } from './domain/cosine.ts';
import { BUILTIN_MODEL, embed, similarity } from './domain/builtin.ts';
import { EndpointFault } from './endpoint.ts';

const AREA = 'search';
const MAX_LENGTH = 8192;
const text = z.string().max(MAX_LENGTH).default('');
const model = z.string().describe('Which embedder made it.');

interface Embedded {
  readonly vectors: readonly (readonly number[])[];
  readonly model: string;
}

type EmbedContext = Pick<CallContext, 'caller' | 'now'> & {
  readonly deps: BrainDeps;
  refuse(code: 'E_EMBEDDER_UNAVAILABLE', details: Record<string, unknown>): Error;
};

/** By the model that is set up; null = none is. Throws UNAUTHORIZED to whom nobody knows: what they send leaves the node. */
async function embedElsewhere(context: EmbedContext, texts: readonly string[]): Promise<Embedded | null> {
  const { caller, deps, now } = context;
  const { embedder } = deps.meaning;
  const endpoint = await embedder.endpoint(caller.registry);
  if (endpoint === null) return null;
  requireIdentity(caller);
  const remainingMs = caller.deadlineAt - now;
  try {
    const ask = (one: string) => embedder.query(endpoint, { text: one, need: 'must', remainingMs });
    return { vectors: await Promise.all(texts.map(ask)), model: endpoint.model };
  } catch (error) {
    if (!(error instanceof EndpointFault)) throw error;
    throw context.refuse('E_EMBEDDER_UNAVAILABLE', { reason: `the embedder ${error.message}` });
  }
}

const embedTool = defineTool({
  name: 'svc_embed',
  area: AREA,
  description: 'Turns a text into a vector: by the model that is set up, else by hashing its words and letter grams.',
  input: z.strictObject({
    text: text.describe('Up to 8,192 characters; without words the built-in vector is all zeros.'),
  }),
  output: z.strictObject({ text: z.string(), vector: z.array(z.number()), dim: z.int(), model }),
  access: 'public',
  effect: 'read',
  refuses: ['E_EMBEDDER_UNAVAILABLE'],
  raises: ['UNAUTHORIZED'],
  example: { text: 'write things down' },
  async handler(wish, context) {
    const made = await embedElsewhere(context, [wish.text]);
    const [vector = []] = made?.vectors ?? [embed(wish.text)];
    return { text: wish.text, vector: [...vector], dim: vector.length, model: made?.model ?? BUILTIN_MODEL };
  },
});

const similarityTool = defineTool({
  name: 'svc_embed_similarity',
  area: AREA,
  description: 'Tells how near two texts are, from -1 to 1, by the vectors that svc_embed makes of them.',
  input: z.strictObject({ textA: text, textB: text }),
  output: z.strictObject({
    textA: z.string(),
    textB: z.string(),
    similarity: z.number().describe('Cosine; 0 when one of them has no words.'),
    score: z.number().describe('As similarity.'),
    model,
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_EMBEDDER_UNAVAILABLE'],
  raises: ['UNAUTHORIZED'],
  example: { textA: 'deploy failed', textB: 'deployment failure' },
  async handler({ textA, textB }, context) {
    const made = await embedElsewhere(context, [textA, textB]);
    const [a = [], b = []] = made?.vectors ?? [];
    const near = made === null ? similarity(textA, textB) : rounded(cosineOf(a, b));
    return { textA, textB, similarity: near, score: near, model: made?.model ?? BUILTIN_MODEL };
  },
});

export const embeddingTools = [embedTool, similarityTool];
