/** What a world holds, and one hash over all of it. */
import { hash } from 'node:crypto';
import { canonicalJson, canonicalOf } from '@svc/contract/canonical.ts';

const NUL = '\0';
const DOMAIN = `svc-state${NUL}`;
const NEWLINE = '\n';

/** Path and bytes; the paths differ. */
export type State = readonly (readonly [path: string, bytes: string | Uint8Array])[];

function hexOf(...parts: readonly (string | Uint8Array)[]): string {
  return hash('sha256', Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))));
}

export function leafOf(path: string, bytes: string | Uint8Array): string {
  return hexOf(DOMAIN, `leaf${NUL}`, path, NUL, bytes);
}

/** The same whatever the order. */
export function rootOf(state: State): string {
  const inOrder = state
    .map(([path, bytes]) => ({ path, key: Buffer.from(path), leaf: leafOf(path, bytes) }))
    .sort((a, b) => Buffer.compare(a.key, b.key));
  const lines = inOrder.map(({ path, leaf }) => `${path}${NUL}${leaf}${NEWLINE}`);
  return hexOf(DOMAIN, `root${NUL}`, String(state.length), NUL, ...lines);
}

export const GENERATIONS = [0, 1, 2, 3, 4] as const;
export const cellPath = (generation: number): string => `cell/${generation}`;

/** One of the five values a world begins with. */
export interface Cell {
  readonly generation: number;
  readonly address: string;
}

export function cellsOf(seed: Buffer): Cell[] {
  const from = `svc-spine${NUL}cell${NUL}${seed.toString('hex')}${NUL}`;
  return GENERATIONS.map((generation) => ({ generation, address: hexOf(from, String(generation)) }));
}

interface Whose {
  readonly world: string;
  readonly fork: boolean;
}

/** The text of a cell, as it is hashed; in a file a newline follows. */
export function cellText({ world, fork }: Whose, { generation, address }: Cell): string {
  return canonicalJson({ address, fork, generation, world });
}

export function stateOf(whose: Whose, cells: readonly Cell[]): State {
  return cells.map((cell) => [cellPath(cell.generation), cellText(whose, cell)]);
}

/** Of a text that may be a cell, with much room for how it is laid out; what is longer is no value and is not read as one. */
export const MOST_CELL_BYTES = 16 * 1024;

/** A cell as it lies in a file: the bytes that are hashed do not depend on how a person has laid it out. */
export function liveBytes(content: string | Uint8Array): string | Uint8Array {
  if (typeof content !== 'string' || Buffer.byteLength(content) > MOST_CELL_BYTES) return content;
  try {
    return canonicalOf(JSON.parse(content)) ?? content;
  } catch {
    return content;
  }
}
