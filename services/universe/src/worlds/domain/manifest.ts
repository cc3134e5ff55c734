/** A manifest says which world is meant and what it held: equal content has one id, on every node and for everybody. */
import { hash } from 'node:crypto';
import { canonicalJson, canonicalOf } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { z } from 'zod';
import { isDeeperThan } from '../../json-depth.ts';
import { ENCODER } from './encoder.ts';
import { namedWorld, type NamedWorld } from './names.ts';
import { childSeed, type Universe, worldSeed } from './seed-chain.ts';
import { type Cell, cellsOf, GENERATIONS, rootOf, stateOf } from './state.ts';

const KIND = 'svc-universe-manifest';
const Hex = z.string().regex(/^[0-9a-f]{64}$/);
const MAX_CELLS = 1000;
/** What a later version says more is shown in answers. */
const MAX_DEPTH = 32;

/** Later versions may say more. */
const Payload = z.looseObject({
  cells: z.array(Hex).min(1).max(MAX_CELLS),
  encoder: Hex,
  fork: z.boolean(),
  kind: z.literal(KIND),
  seed: Hex,
  stateRoot: Hex,
  universe: Hex,
  v: z.int().min(1),
  world: z.string(),
});
type Payload = Readonly<z.output<typeof Payload>>;

export interface Manifest {
  readonly id: string;
  readonly payload: Payload;
}

/** A world as everybody derives it from its names. */
export interface World extends NamedWorld {
  readonly universe: Universe;
  readonly seed: Buffer;
  readonly cells: readonly Cell[];
  readonly stateRoot: string;
}

export function deriveWorld(universe: Universe, named: NamedWorld): World {
  const [root, ...children] = named.lineage;
  const seed = children.reduce(childSeed, worldSeed(universe, root));
  const cells = cellsOf(seed);
  const stateRoot = rootOf(stateOf({ world: named.name, fork: named.fork }, cells));
  return { ...named, universe, seed, cells, stateRoot };
}

/** `stateRoot`: what it holds, which need not be what it began with. */
export function manifestOf({ name, fork, universe, seed, cells }: World, stateRoot: string): Manifest {
  const payload: Payload = {
    cells: cells.map(({ address }) => address),
    encoder: ENCODER,
    fork,
    kind: KIND,
    seed: seed.toString('hex'),
    stateRoot,
    universe: universe.fingerprint,
    v: 1,
    world: name,
  };
  return { id: hash('sha256', canonicalJson(payload)), payload };
}

export function isStateRoot(text: string): boolean {
  return Hex.safeParse(text).success;
}

/** As it is stored. */
export function manifestText({ payload }: Pick<Manifest, 'payload'>): string {
  return `${canonicalJson(payload)}\n`;
}

type Read = Decision<Manifest, 'E_SNAPSHOT_MANIFEST'>;

/** What somebody says is one. */
export function manifestIn(value: unknown): Read {
  const parsed = Payload.safeParse(value);
  if (!parsed.success || !namedWorld(parsed.data.world, parsed.data.fork).ok) return deny('E_SNAPSHOT_MANIFEST');
  // What was given, and not what the schema made of it: the id is that of the former.
  const text = canonicalOf(value);
  if (text === null || isDeeperThan(text, MAX_DEPTH)) return deny('E_SNAPSHOT_MANIFEST');
  return allow({ id: hash('sha256', text), payload: value as Payload });
}

/** As it was stored under that id, to the last byte. */
export function storedManifest(id: string, text: string): Read {
  const read = manifestIn(parsedOrNull(text));
  return read.ok && read.value.id === id && manifestText(read.value) === text ? read : deny('E_SNAPSHOT_MANIFEST');
}

/** Those of a file that holds one, a list, or a list under `manifests`. What is none spoils itself alone in a list. */
export function manifestsOfFile(text: string): Decision<Manifest[], 'E_SNAPSHOT_MANIFEST'> {
  const value = parsedOrNull(text);
  const listed = Array.isArray(value) ? value : listUnder(value);
  if (listed === null) {
    const one = manifestIn(value);
    return one.ok ? allow([one.value]) : one;
  }
  return allow(
    listed.flatMap((item) => {
      const read = manifestIn(item);
      return read.ok ? [read.value] : [];
    }),
  );
}

function listUnder(value: unknown): unknown[] | null {
  if (typeof value !== 'object' || value === null || !('manifests' in value)) return null;
  return Array.isArray(value.manifests) ? value.manifests : null;
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The cells that a resume may write; null = a form that this version does not write. */
export function resumableCells({ payload }: Manifest): Cell[] | null {
  const { v, cells } = payload;
  if (v !== 1 || cells.length !== GENERATIONS.length) return null;
  return cells.map((address, generation) => ({ generation, address }));
}
