/** The stored vectors of one brain in one model, held to what its files say. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { OpenBrain } from '../brain/open-brain.ts';
import type { RowChains } from '../ports.ts';
import type { AnalysedFile } from '../search/analysed-file.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import { Slices } from '../thread/slices.ts';
import type { BranchWriter } from '../writer/branch-writer.ts';
import { shrink } from './domain/small-vector.ts';
import { BATCH, type Embedder } from './embedder.ts';
import { type Endpoint, EndpointFault } from './endpoint.ts';
import type { PassageVectors } from './passage-vectors.ts';
import { analysedText, passageNames, passageText } from './passages.ts';
import { deletePassages, readPassages, type StoredVector, type VectorSpace, writeVectors } from './vector-rows.ts';

export interface VectorTools {
  readonly client: SqlClient;
  readonly embedder: Pick<Embedder, 'passages'>;
  readonly vectors: Pick<PassageVectors, 'noteStored'>;
}

export interface Work {
  readonly endpoint: Endpoint;
  readonly signal: AbortSignal;
}

/** Passages without a vector, by name. */
type MissingTexts = ReadonlyMap<string, string>;

/** A branch as it was looked through last. */
interface Looked {
  readonly version: number;
  readonly chains: RowChains;
  /** Passages that it has. */
  readonly passages: ReadonlySet<string>;
  /** By file, how many of them have no vector. */
  readonly pending: ReadonlyMap<string, number>;
}

/** Passages that are made between two looks at a brain, so that none waits for all of another one. */
const ROUND = 4 * BATCH;
/** Something that every model takes. */
const PROBE = 'probe';

export class BrainVectors {
  readonly #tools: VectorTools;
  readonly #space: VectorSpace;
  /** How many numbers each passage has. */
  readonly #stored: Map<string, number>;
  readonly #branches = new Map<string, Looked>();

  static async read(tools: VectorTools, space: VectorSpace): Promise<BrainVectors> {
    return new BrainVectors(tools, space, await readPassages(tools.client, space));
  }

  private constructor(tools: VectorTools, space: VectorSpace, stored: Map<string, number>) {
    this.#tools = tools;
    this.#space = space;
    this.#stored = stored;
  }

  get model(): string {
    return this.#space.space;
  }

  /** In files that may be read, as last looked. */
  pending(mayRead: (path: string) => boolean): number {
    let pending = 0;
    for (const { pending: files } of this.#branches.values())
      for (const [file, count] of files) if (mayRead(file)) pending += count;
    return pending;
  }

  /**
   * What has no text any more is gone then, whatever becomes of the endpoint. Answers a round of what is missing; with
   * `wantsMissing` false nothing, and only what changed is looked at.
   */
  async look(brain: OpenBrain, chains: RowChains, wantsMissing: boolean): Promise<MissingTexts> {
    const trees = await brain.trees.all();
    const closed = [...this.#branches.keys()].filter((branch) => !trees.has(branch));
    for (const branch of closed) this.#branches.delete(branch);
    let isChanged = closed.length > 0;
    const texts = new Map<string, string>();
    for (const [branch, writer] of trees) {
      const before = this.#branches.get(branch);
      const isSame = before?.version === writer.tree.index.version && before.chains === chains;
      if (isSame && (before.pending.size === 0 || !wantsMissing)) continue;
      isChanged ||= !isSame;
      await this.#lookAt(branch, writer, chains, { texts, most: wantsMissing ? ROUND : 0 });
    }
    if (isChanged) await this.#removeGone();
    return texts;
  }

  /** Throws EndpointFault. */
  async make(missing: MissingTexts, work: Work): Promise<void> {
    const all = [...missing];
    for (let from = 0; from < all.length; from += BATCH) await this.#make(all.slice(from, from + BATCH), work);
  }

  async #lookAt(
    branch: string,
    { tree }: BranchWriter,
    chains: RowChains,
    { texts, most }: { readonly texts: Map<string, string>; readonly most: number },
  ): Promise<void> {
    const { version } = tree.index;
    let entries: AnalysedEntry[] = [];
    await tree.index.ask(chains, (index) => {
      for (const { analysed } of entries) analysed.release();
      entries = entriesOf(index, chains);
    });
    try {
      const { missing, ...looked } = await this.#lookThrough(entries, most - texts.size);
      this.#branches.set(branch, { version, chains, ...looked });
      for (const { entry, passages } of missing) {
        const text = analysedText(entry, chains, tree.read(entry.file)?.text ?? null);
        if (text === null) continue; // it changed: the next look finds what it is now
        for (const [name, ordinal] of passages) texts.set(name, passageText(entry.analysed, text, ordinal));
      }
    } finally {
      for (const { analysed } of entries) analysed.release();
    }
  }

  /** All passages, and some of those that have no vector, by file. */
  async #lookThrough(entries: readonly AnalysedEntry[], wanted: number) {
    const passages = new Set<string>();
    const pending = new Map<string, number>();
    const missing: { readonly entry: AnalysedEntry; readonly passages: Map<string, number> }[] = [];
    let count = 0;
    const slices = new Slices();
    for (const entry of entries) {
      const { file, analysed } = entry;
      const lacking = new Map<string, number>();
      for (const [ordinal, name] of passageNames(analysed).names.entries()) {
        if (name === null) continue;
        passages.add(name);
        if (this.#stored.has(name)) continue;
        pending.set(file, (pending.get(file) ?? 0) + 1);
        if (count + lacking.size < wanted) lacking.set(name, ordinal);
      }
      if (lacking.size > 0) missing.push({ entry, passages: lacking });
      count += lacking.size;
      if (slices.isOver) await slices.pause();
    }
    return { passages, pending, missing };
  }

  async #make(texts: readonly NamedText[], work: Work): Promise<void> {
    const { client, embedder, vectors } = this.#tools;
    const made = await embedAll(embedder, work, texts);
    if (!areAlike(this.#stored, made)) throw new EndpointFault('unfit');
    await writeVectors(client, this.#space, made);
    for (const { passage, vector } of made) this.#stored.set(passage, vector.length);
    vectors.noteStored(this.#space.brainId);
  }

  async #removeGone(): Promise<void> {
    const branches = [...this.#branches.values()];
    const gone = [...this.#stored.keys()].filter((passage) => !branches.some(({ passages }) => passages.has(passage)));
    if (gone.length === 0) return;
    await deletePassages(this.#tools.client, this.#space, gone);
    for (const passage of gone) this.#stored.delete(passage);
  }
}

/** Vectors of one model are all equally long. */
function areAlike(stored: ReadonlyMap<string, number>, made: readonly StoredVector[]): boolean {
  const lengths = made.flatMap(({ vector }) => (vector.length === 0 ? [] : [vector.length]));
  let wanted = lengths[0];
  for (const length of stored.values()) {
    if (length === 0) continue;
    wanted = length;
    break;
  }
  return lengths.every((length) => length === wanted);
}

interface AnalysedEntry {
  readonly file: string;
  readonly analysed: AnalysedFile;
}

/** What of each file may be found as the rules are now; the analyses are held. */
function entriesOf(index: RuledIndex, chains: RowChains): AnalysedEntry[] {
  const files = Array.from(index.under(chains).files(), ({ file }) => file);
  for (const file of files) if (!index.isUnder(chains, file)) index.arrangeAgain(chains, file);
  return Array.from(index.under(chains).files(), ({ file, analysed }) => ({ file, analysed: analysed.hold() }));
}

type NamedText = readonly [passage: string, text: string];

/** A text that the model does not take spoils itself alone. */
async function embedAll(
  embedder: VectorTools['embedder'],
  { endpoint, signal }: Work,
  texts: readonly NamedText[],
): Promise<StoredVector[]> {
  const embed = async (some: readonly NamedText[]): Promise<StoredVector[]> => {
    const asked = some.map(([, text]) => text);
    const made = await embedder.passages(endpoint, asked, signal);
    return some.map(([passage], at) => ({ passage, vector: shrink(made[at] ?? []) }));
  };
  try {
    return await embed(texts);
  } catch (error) {
    if (!isAboutInput(error)) throw error;
  }
  // It takes nothing at all when it does not take this.
  await embedder.passages(endpoint, [PROBE], signal);
  const each: StoredVector[] = [];
  for (const text of texts) each.push(...(await embed([text]).catch((error: unknown) => untaken(text[0], error))));
  return each;
}

function isAboutInput(error: unknown): boolean {
  return error instanceof EndpointFault && error.kind === 'input';
}

function untaken(passage: string, error: unknown): StoredVector[] {
  if (!isAboutInput(error)) throw error;
  return [{ passage, vector: new Int8Array(0) }];
}
