/** The embedder that an operator has set up: texts become vectors at an endpoint. Without one, the built-in embedder is used. */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Settings } from '@svc/runtime/settings.ts';
import { createAsking } from './asking.ts';
import { askEndpoint, type Endpoint, EndpointFault } from './endpoint.ts';

/** Texts of one question. */
export const BATCH = 64;
const BATCH_MS = 10_000;
const MAX_DIMENSIONS = 16_384;
/** Enough for a batch of long vectors with all their digits. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Queries at once; more are answered that they cannot be now. */
const MAX_QUERIES = 8;
const KEPT_QUERIES = 500;
/** What somebody waits who is answered without it, too. */
const PATIENCE_MS = 3_000;

const Answer = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1).max(MAX_DIMENSIONS) })),
});

interface EmbedderParts {
  readonly settings: Pick<Settings, 'read' | 'inspectAll'>;
  readonly key: string | undefined;
  /** Monotonic, in milliseconds. */
  now(): number;
}

export type Embedder = ReturnType<typeof createEmbedder>;

interface QueryWish {
  readonly text: string;
  /** `must`: there is no answer without it. Others do not wait where it has just failed. */
  readonly need: 'must' | 'may';
  /** Milliseconds that are left. */
  readonly remainingMs: number;
}

export function createEmbedder({ settings, key, now }: EmbedderParts) {
  const queries = new LRUCache<string, readonly number[]>({ max: KEPT_QUERIES });
  const asking = createAsking({ atOnce: MAX_QUERIES, now });

  async function askQuery(endpoint: Endpoint, { text, need, remainingMs }: QueryWish): Promise<readonly number[]> {
    const timeoutMs = Math.min(need === 'may' ? PATIENCE_MS : BATCH_MS, remainingMs / 2);
    const [vector = []] = await asking.run(need, () => embedAt(endpoint, [text], { timeoutMs }));
    return vector;
  }

  return {
    /** What is set now, as far as that is known; null = none. */
    async endpoint(stamp: RegistryStamp | null): Promise<Endpoint | null> {
      const [url, model] = await Promise.all([settings.read('embed.url', stamp), settings.read('embed.model', stamp)]);
      return url === null || model === null ? null : { url, model, key };
    },
    /** What is set now. Throws SERVICE_UNAVAILABLE when nobody can tell. */
    async certainEndpoint(stamp: RegistryStamp): Promise<Endpoint | null> {
      await settings.inspectAll(stamp);
      return this.endpoint(stamp);
    },
    /** Of a text that somebody asks about. Throws EndpointFault. */
    async query(endpoint: Endpoint, wish: QueryWish): Promise<readonly number[]> {
      const place = `${endpoint.url} ${endpoint.model} ${wish.text}`;
      const vector = queries.get(place) ?? (await askQuery(endpoint, wish));
      queries.set(place, vector);
      return vector;
    },
    /** Of passages, in their order; at most `BATCH`. Throws EndpointFault. */
    passages: (endpoint: Endpoint, texts: readonly string[], signal: AbortSignal): Promise<number[][]> =>
      asking.noted(embedAt(endpoint, texts, { timeoutMs: BATCH_MS, signal })),
    /** What it made of queries is not to be gone by any more. */
    forgetQueries: (): void => queries.clear(),
    trouble: asking.trouble,
  };
}

async function embedAt(
  endpoint: Endpoint,
  texts: readonly string[],
  limits: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<number[][]> {
  const body = { input: texts, encoding_format: 'float' };
  const told = await askEndpoint(endpoint, { path: '/embeddings', body, maxBytes: MAX_ANSWER_BYTES, ...limits });
  const answer = Answer.safeParse(told);
  if (!answer.success) throw new EndpointFault('unfit', answer.error);
  const vectors = new Map(answer.data.data.map(({ index, embedding }) => [index, embedding]));
  const lengths = new Set(Array.from(vectors.values(), ({ length }) => length));
  if (vectors.size !== texts.length || lengths.size !== 1) throw new EndpointFault('unfit');
  return texts.map((_text, index) => {
    const vector = vectors.get(index);
    if (vector === undefined) throw new EndpointFault('unfit');
    return vector;
  });
}
