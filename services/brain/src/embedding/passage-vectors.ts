/** How near the passages of a brain are to a query: by stored vectors of a model, or by those of the built-in embedder. */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { AnalysedFile } from '../search/analysed-file.ts';
import { Slices } from '../thread/slices.ts';
import { BUILTIN_MODEL, DIMENSIONS, directionOf } from './domain/builtin.ts';
import { cosineAt, shrink } from './domain/small-vector.ts';
import { passageNames, passageText, type TextOf } from './passages.ts';
import { readVectors, type VectorSpace } from './vector-rows.ts';

/** A query as a model sees it. */
export const QueryVector = z.strictObject({
  space: z.string(),
  vector: z.array(z.number()).readonly(),
  /** What it counts beside words. */
  weight: z.number(),
});
export type QueryVector = Readonly<z.output<typeof QueryVector>>;

/** The vectors of a text, one after the other; all zeros for what has none. */
interface TextVectors {
  readonly vectors: Int8Array;
  /** Passages that have one of the wanted length, and of another one. */
  readonly fit: number;
  readonly unfit: number;
  /** Every passage has one that can have one. */
  readonly isComplete: boolean;
  /** How often vectors of the brain had been stored by then; what lacked some may have more since. */
  readonly stored: number;
}

/** By `PassageNames.key`, the cosine of each passage. */
export type Cosines = ReadonlyMap<string, Float64Array>;

interface CosineWish {
  readonly brainId: string;
  readonly query: QueryVector;
  readonly textOf: TextOf;
  /** When nobody waits for it any more; ms of the clock of the calls. */
  readonly deadlineAt: number;
}

/** `late`: there was no time for all of them; what was done is known the next time. `unfit`: no vector is as long as the query's. */
type CosineOutcome = { readonly cosines: Cosines } | { readonly lacking: 'late' | 'unfit' };

/** Texts whose vectors are read together. */
const BATCH_TEXTS = 256;
const OVERHEAD_BYTES = 300;

export class PassageVectors {
  readonly #client: SqlClient;
  readonly #now: () => number;
  readonly #kept: LRUCache<string, TextVectors>;
  /** By the own id of a brain. */
  readonly #stored = new Map<string, number>();

  constructor(client: SqlClient, { maxBytes, now }: { readonly maxBytes: number; now(): number }) {
    this.#client = client;
    this.#now = now;
    this.#kept = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ vectors }) => vectors.byteLength + OVERHEAD_BYTES,
    });
  }

  /** Other vectors of the brain are stored from now on. */
  noteStored(brainId: string): void {
    this.#stored.set(brainId, (this.#stored.get(brainId) ?? 0) + 1);
  }

  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  async cosines(texts: readonly AnalysedFile[], wish: CosineWish): Promise<CosineOutcome> {
    const { brainId, query, textOf, deadlineAt } = wish;
    const asked = shrink(query.vector);
    const cosines = new Map<string, Float64Array>();
    const slices = new Slices();
    const isLate = () => this.#now() > deadlineAt;
    let fit = 0;
    let unfit = 0;
    for (let from = 0; from < texts.length; from += BATCH_TEXTS) {
      const batch = texts.slice(from, from + BATCH_TEXTS);
      const held = await this.#vectorsOf(
        { brainId, space: query.space },
        { length: asked.length, textOf, isLate },
        batch,
      );
      if (isLate()) return { lacking: 'late' };
      for (const [key, found] of held) {
        fit += found.fit;
        unfit += found.unfit;
        cosines.set(key, cosinesOf(asked, found.vectors));
        if (slices.isOver) await slices.pause();
      }
    }
    return fit === 0 && unfit > 0 ? { lacking: 'unfit' } : { cosines };
  }

  async #vectorsOf(
    space: VectorSpace,
    { length, textOf, isLate }: VectorWish,
    texts: readonly AnalysedFile[],
  ): Promise<Map<string, TextVectors>> {
    const stored = this.#stored.get(space.brainId) ?? 0;
    const slices = new Slices();
    const { held, missing } = await this.#keptOf(texts, (key) => placeOf(space, length, key), { stored, slices });
    const isBuiltin = space.space === BUILTIN_MODEL;
    const rows = isBuiltin ? new Map<string, Int8Array>() : await this.#read(space, missing);
    for (const text of missing) {
      if (isLate()) break;
      const { key } = passageNames(text);
      const made = isBuiltin ? await builtinVectors(text, textOf, slices) : vectorsFrom(rows, text, length);
      if (made === null) continue;
      const vectors = { ...made, stored };
      held.set(key, vectors);
      this.#kept.set(placeOf(space, length, key), vectors);
      if (slices.isOver) await slices.pause();
    }
    return held;
  }

  async #keptOf(
    texts: readonly AnalysedFile[],
    place: (key: string) => string,
    { stored, slices }: { readonly stored: number; readonly slices: Slices },
  ) {
    const held = new Map<string, TextVectors>();
    const missing: AnalysedFile[] = [];
    for (const text of texts) {
      const { key } = passageNames(text);
      const found = this.#kept.get(place(key));
      if (found !== undefined && (found.isComplete || found.stored === stored)) held.set(key, found);
      else missing.push(text);
      if (slices.isOver) await slices.pause();
    }
    return { held, missing };
  }

  async #read(space: VectorSpace, texts: readonly AnalysedFile[]): Promise<Map<string, Int8Array>> {
    const names = new Set(texts.flatMap((text) => passageNames(text).names.filter((name) => name !== null)));
    return names.size === 0 ? new Map<string, Int8Array>() : readVectors(this.#client, space, [...names]);
  }
}

function placeOf({ brainId, space }: VectorSpace, length: number, key: string): string {
  // What the built-in embedder makes is the same in every brain.
  return space === BUILTIN_MODEL ? `${space} ${key}` : `${brainId} ${space} ${length} ${key}`;
}

function cosinesOf(query: Int8Array, vectors: Int8Array): Float64Array {
  const count = query.length === 0 ? 0 : vectors.length / query.length;
  return Float64Array.from({ length: count }, (_, ordinal) => cosineAt(query, vectors, ordinal * query.length));
}

type MadeVectors = Omit<TextVectors, 'stored'>;

interface VectorWish {
  readonly length: number;
  readonly textOf: TextOf;
  isLate(): boolean;
}

/** Null when the text is no longer there. */
async function builtinVectors(analysed: AnalysedFile, textOf: TextOf, slices: Slices): Promise<MadeVectors | null> {
  const text = await textOf(analysed);
  if (text === null) return null;
  const each: Int8Array[] = [];
  for (let ordinal = 0; ordinal < analysed.rows; ordinal += 1) {
    each.push(shrink(directionOf(passageText(analysed, text, ordinal))));
    if (slices.isOver) await slices.pause();
  }
  return { vectors: joined(each, DIMENSIONS), fit: analysed.rows, unfit: 0, isComplete: true };
}

function vectorsFrom(rows: ReadonlyMap<string, Int8Array>, text: AnalysedFile, length: number): MadeVectors {
  const none = new Int8Array(length);
  let [fit, unfit, isComplete] = [0, 0, true];
  const each = passageNames(text).names.map((name) => {
    const vector = name === null ? undefined : rows.get(name);
    if (vector?.length === length) {
      fit += 1;
      return vector;
    }
    // One that says nothing, or that the model does not take, will never have another.
    if (name !== null && vector?.length !== 0) isComplete = false;
    if (vector !== undefined && vector.length > 0) unfit += 1;
    return none;
  });
  return { vectors: joined(each, length), fit, unfit, isComplete };
}

function joined(each: readonly Int8Array[], length: number): Int8Array {
  const all = new Int8Array(each.length * length);
  for (const [ordinal, vector] of each.entries()) all.set(vector, ordinal * length);
  return all;
}
