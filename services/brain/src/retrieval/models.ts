/** What models have to say to one search: vectors of what is asked, and other words for it. Without one, or where one fails, words alone count. */
import type { Caller } from '@svc/contract/tool.ts';
import type { BrainDeps } from '../deps.ts';
import { BUILTIN_MODEL, embed } from '../embedding/domain/builtin.ts';
import { EndpointFault } from '../embedding/endpoint.ts';
import type { QueryVector } from '../embedding/passage-vectors.ts';

export const DEGRADED = ['semantic', 'model'] as const;
export type Degraded = (typeof DEGRADED)[number];

export interface Models {
  /** What a text means; null = words alone count. Throws EndpointFault where there is no answer without it. */
  meaningOf(text: string): Promise<QueryVector | null>;
  /** Why meaning could not count in some brain. */
  noteLacking(lacking: 'late' | 'unfit'): void;
  /** What a model writes about the query; null = nobody writes. */
  write(instruction: string, query: string): Promise<string | null>;
  /** What had to do without a model that is set up, in order. */
  degraded(): Degraded[];
}

export const WORDS_ALONE: Models = {
  meaningOf: async () => null,
  noteLacking: () => {},
  write: async () => null,
  degraded: () => [],
};

interface ModelsContext {
  readonly deps: Pick<BrainDeps, 'meaning' | 'settings'>;
  readonly caller: Pick<Caller, 'registry' | 'deadlineAt'>;
  /** When the call began. */
  readonly now: number;
}

/** `must`: there is no answer without meaning, and the built-in embedder serves where none is set up. */
export function modelsFor({ deps: { meaning, settings }, caller, now }: ModelsContext, need: 'must' | 'may'): Models {
  const { registry, deadlineAt } = caller;
  const began = performance.now();
  const remaining = (): number => deadlineAt - now - (performance.now() - began);
  const lost = new Set<Degraded>();

  async function asked(text: string): Promise<QueryVector | null> {
    const endpoint = await meaning.embedder.endpoint(registry);
    if (endpoint === null) return need === 'may' ? null : { space: BUILTIN_MODEL, vector: embed(text), weight: 1 };
    const weight = await settings.read('search.weights', registry);
    const vector = await meaning.embedder.query(endpoint, { text, need, remainingMs: remaining() });
    return { space: endpoint.model, vector, weight };
  }

  /** Null, and noted, where the endpoint fails. */
  async function unless<Value>(degraded: Degraded, work: Promise<Value>): Promise<Value | null> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof EndpointFault)) throw error;
      lost.add(degraded);
      return null;
    }
  }

  return {
    meaningOf: (text) => (need === 'must' ? asked(text) : unless('semantic', asked(text))),
    noteLacking(lacking) {
      lost.add('semantic');
      if (lacking === 'unfit') meaning.embedder.forgetQueries();
    },
    async write(instruction, query) {
      const endpoint = await meaning.chat.endpoint(registry);
      if (endpoint === null) return null;
      const wish = { instruction, query, remainingMs: remaining() };
      return unless('model', meaning.chat.write(endpoint, wish));
    },
    degraded: () => DEGRADED.filter((one) => lost.has(one)),
  };
}
