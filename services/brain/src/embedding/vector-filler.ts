/**
 * Keeps the stored vectors of the brains of this process at what their files say now: makes those that are missing at the
 * endpoint, and removes those whose text is gone. Only what readers would find is sent, so no hidden field is.
 */
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import type { RowRules } from '../ports.ts';
import { BrainVectors, type VectorTools } from './brain-vectors.ts';
import type { Embedder } from './embedder.ts';
import { type Endpoint, EndpointFault } from './endpoint.ts';
import { deleteOtherSpaces } from './vector-rows.ts';

interface FillerParts extends VectorTools {
  readonly embedder: Embedder;
  readonly rules: Pick<RowRules, 'view'>;
  openBrains(): readonly OpenBrain[];
  /** Throws SERVICE_UNAVAILABLE. */
  stamp(): Promise<RegistryStamp>;
  /** Monotonic, in milliseconds. */
  now(): number;
  onProblem(brain: string, error: unknown): void;
}

interface Round {
  readonly stamp: RegistryStamp;
  readonly endpoint: Endpoint | null;
  readonly signal: AbortSignal;
  /** What the endpoint failed at; null = it is asked. While it rests, what lost its text still goes. */
  fault: EndpointFault | 'rests' | null;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

export class VectorFiller {
  readonly #parts: FillerParts;
  /** Null = nothing of it is stored. One that is opened again is looked at anew: another process may have had it. */
  readonly #known = new WeakMap<OpenBrain, BrainVectors | null>();
  #trouble: string | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #restsUntil = 0;

  constructor(parts: FillerParts) {
    this.#parts = parts;
  }

  /** Until nothing is missing, or the endpoint fails: then it is left alone for a while. */
  async run(signal: AbortSignal): Promise<void> {
    const { now, stamp: stampNow, embedder } = this.#parts;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const stamp = await stampNow();
      const fault = now() < this.#restsUntil ? 'rests' : null;
      const round: Round = { stamp, endpoint: await embedder.certainEndpoint(stamp), signal, fault };
      isMore = await this.#lookAtAll(round);
      if (round.fault instanceof EndpointFault) return this.#rest(round.fault);
      if (round.fault === 'rests') return;
    }
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#trouble = null;
  }

  #rest({ message }: EndpointFault): void {
    this.#trouble = message;
    this.#restsUntil = this.#parts.now() + this.#pauseMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  /** Passages without a vector in files that may be read, as last looked. */
  pendingOf(brain: OpenBrain, mayRead: (path: string) => boolean): number {
    return this.#known.get(brain)?.pending(mayRead) ?? 0;
  }

  /** Why it rests; null = it does not. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** One brain's fault is not that of the others; the endpoint's ends what is made for all. True when there is more to do. */
  async #lookAtAll(round: Round): Promise<boolean> {
    let isMore = false;
    for (const brain of this.#parts.openBrains()) {
      if (round.signal.aborted) return false;
      try {
        isMore = (await this.#lookAt(brain, round)) || isMore;
      } catch (error) {
        if (error instanceof EndpointFault) round.fault = error;
        else this.#parts.onProblem(brain.context.name, error);
      }
    }
    return isMore;
  }

  async #lookAt(brain: OpenBrain, { stamp, endpoint, signal, fault }: Round): Promise<boolean> {
    const vectors = await this.#vectorsOf(brain, endpoint);
    if (vectors === null || endpoint === null) return false;
    // Whose view it is does not matter: the chains are those of the brain.
    const { chains } = await this.#parts.rules.view({}, brain.context.name, stamp);
    const missing = await vectors.look(brain, chains, fault === null);
    if (missing.size > 0) await vectors.make(missing, { endpoint, signal });
    return missing.size > 0;
  }

  async #vectorsOf(brain: OpenBrain, endpoint: Endpoint | null): Promise<BrainVectors | null> {
    const brainId = brain.context.homes.home.id;
    const model = endpoint?.model ?? null;
    const before = this.#known.get(brain);
    if (before !== undefined && (before?.model ?? null) === model) return before;
    this.#known.delete(brain);
    await deleteOtherSpaces(this.#parts.client, brainId, model);
    const vectors = model === null ? null : await BrainVectors.read(this.#parts, { brainId, space: model });
    this.#known.set(brain, vectors);
    return vectors;
  }
}
