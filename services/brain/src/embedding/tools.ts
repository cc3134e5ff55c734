/** Texts as vectors, and how near two of them are. */
import { z } from 'zod';
import { defineTool } from '../deps.ts';
import { BUILTIN_MODEL, DIMENSIONS, embed, similarity } from './domain/builtin.ts';

const AREA = 'search';
const MAX_LENGTH = 8192;
const text = z.string().max(MAX_LENGTH).default('');
const model = z.string().describe('Which embedder made it.');

const embedTool = defineTool({
  name: 'svc_embed',
  area: AREA,
  description:
    'Turns a text into a vector of length 1 by hashing its words, pairs of words and letter grams; no model is asked.',
  input: z.strictObject({ text: text.describe('Up to 8,192 characters; without words the vector is all zeros.') }),
  output: z.strictObject({ text: z.string(), vector: z.array(z.number()), dim: z.int(), model }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { text: 'write things down' },
  handler: async (wish) => ({ text: wish.text, vector: embed(wish.text), dim: DIMENSIONS, model: BUILTIN_MODEL }),
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
  refuses: [],
  example: { textA: 'deploy failed', textB: 'deployment failure' },
  async handler({ textA, textB }) {
    const near = similarity(textA, textB);
    return { textA, textB, similarity: near, score: near, model: BUILTIN_MODEL };
  },
});

export const embeddingTools = [embedTool, similarityTool];
