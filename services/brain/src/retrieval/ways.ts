/** The ways to search, by what each asks and what it tells beside what it finds. */
import { Refusal } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { EndpointFault } from '../embedding/endpoint.ts';
import type { Target } from '../tools/target.ts';
import type { Variant } from './domain/variants.ts';
import { type Found, searchStack, type StackRequest } from './found.ts';
import { searchByHypothesis, searchByVariants } from './modes.ts';

/** A way to search, and what it tells beside what it finds. */
export interface Way<Told> {
  readonly mode: string;
  /** Whether there is an answer without meaning. */
  readonly need: 'must' | 'may';
  /** Whether what it finds comes in pages: what several lists make together has an end. */
  readonly isPaged: boolean;
  search(
    targets: readonly Target[],
    request: StackRequest,
  ): Promise<Decision<Found & { readonly told: Told }, ReadRefusal>>;
}

const inOnePass = (mode: 'plain' | 'hybrid'): Way<object> => ({
  mode,
  need: 'may',
  isPaged: true,
  async search(targets, request) {
    const found = await searchStack(targets, { ...request, mode });
    return found.ok ? allow({ ...found.value, told: {} }) : found;
  },
});

export const PLAIN = inOnePass('plain');
export const HYBRID = inOnePass('hybrid');
export const HYDE: Way<{ hypothetical?: string; source?: 'feedback' | 'model' }> = {
  mode: 'hyde',
  need: 'may',
  isPaged: false,
  async search(targets, request) {
    const found = await searchByHypothesis(targets, request);
    if (!found.ok) return found;
    const { hypothetical, source } = found.value;
    return allow({ ...found.value, told: { hypothetical, source } });
  },
};
export const MULTIQUERY: Way<{ queries?: Variant[] }> = {
  mode: 'multiquery',
  need: 'may',
  isPaged: false,
  async search(targets, request) {
    const found = await searchByVariants(targets, request);
    return found.ok ? allow({ ...found.value, told: { queries: [...found.value.queries] } }) : found;
  },
};

export const SEMANTIC: Way<{ embedder?: string }> = {
  mode: 'semantic',
  need: 'must',
  isPaged: true,
  async search(targets, request) {
    const found = await searchStack(targets, { ...request, mode: 'semantic' });
    if (!found.ok) return found;
    const { lacking } = found.value;
    if (lacking !== null) throw unavailable(LACKING[lacking]);
    const meaning = await request.models.meaningOf(request.query);
    return allow({ ...found.value, told: meaning === null ? {} : { embedder: meaning.space } });
  },
};

const LACKING = {
  late: 'the vectors of these brains are still being made; ask again',
  unfit: 'the embedder makes vectors of another length than those that are stored',
} as const;

function unavailable(reason: string): Refusal {
  return new Refusal('E_EMBEDDER_UNAVAILABLE', { reason });
}

/** What cannot be answered without an endpoint that fails is refused, and says why. */
export async function unlessUnavailable<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof EndpointFault) throw unavailable(`the embedder ${error.message}`);
    throw error;
  }
}
