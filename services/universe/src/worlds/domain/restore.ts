/** A resume from its first row to its end: what comes next, what is written, and what its caller is told. */
import { hash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';
import type { Manifest } from './manifest.ts';
import { type Cell, cellText, GENERATIONS } from './state.ts';

type RestoreState = 'started' | 'billed' | 'written' | 'done' | 'aborted';

/** Credits: one for each cell. */
export const PRICE = GENERATIONS.length;
export const FIRST_LIMIT = 1000;
export const SINK = 'sink:universe';
const LINE = 'scenario:materialize:';
const MAX_ACCOUNT_LENGTH = 128;
const ACCOUNT = /^[A-Za-z0-9._:@-]+$/;

/** What an actor materializes with. A name that no account can have stands there by its hash. */
export function lineOf(actor: string): string {
  const account = `${LINE}${actor}`;
  return account.length <= MAX_ACCOUNT_LENGTH && ACCOUNT.test(account) ? account : `${LINE}${hash('sha256', actor)}`;
}

export interface Restore {
  readonly restoreId: string;
  readonly state: RestoreState;
  readonly manifestId: string;
  readonly world: string;
  readonly actor: string;
  readonly stateRoot: string;
  /** Of the cells that the brain held before; null = it held none. */
  readonly liveRoot: string | null;
  readonly materialize: boolean;
  /** Of the marker, in ms since the epoch. */
  readonly at: number;
  readonly refundOwed: boolean;
}

export type Step = 'debit' | 'write' | 'finish' | 'refund';

/** Null = it is over. */
export function nextStep({
  state,
  materialize,
  refundOwed,
}: Pick<Restore, 'state' | 'materialize' | 'refundOwed'>): Step | null {
  switch (state) {
    case 'started':
      return materialize ? 'debit' : 'write';
    case 'billed':
      return 'write';
    case 'written':
      return 'finish';
    case 'aborted':
      return refundOwed ? 'refund' : null;
    default:
      return null;
  }
}

/** What was paid may be owed: also where nobody knows whether the debit came. */
export function owesAfterAbort(
  { state, materialize }: Pick<Restore, 'state' | 'materialize'>,
  refused: boolean,
): boolean {
  return state === 'billed' || (state === 'started' && materialize && !refused);
}

const GIVEN_UP_AFTER_MS = 600_000;

export function isGivenUp({ state }: Pick<Restore, 'state'>, ageMs: number): boolean {
  return (state === 'started' || state === 'billed') && ageMs >= GIVEN_UP_AFTER_MS;
}

export const MARKER = 'universe/restore.json';
export const cellFile = (folder: string, generation: number): string => `${folder}/cell-${generation}.json`;

/** Where the cells of a world lie; two worlds of one name in different universes do not meet. */
export function cellFolder(world: string, seed: string): string {
  return `universe/worlds/${world}-${seed.slice(0, 8)}`;
}

export function manifestFile(id: string): string {
  return `universe/manifests/${id}.json`;
}

export function liveRootMatch({ liveRoot, stateRoot }: Pick<Restore, 'liveRoot' | 'stateRoot'>): boolean | null {
  return liveRoot === null ? null : liveRoot === stateRoot;
}

export interface NewFile {
  readonly path: string;
  readonly content: string;
}

/** `cells`: empty where nothing is materialized. */
export function filesOf(
  { payload: { world, fork, seed } }: Manifest,
  cells: readonly Cell[],
  restore: Pick<Restore, 'actor' | 'at' | 'manifestId' | 'liveRoot' | 'stateRoot' | 'world'>,
): NewFile[] {
  const folder = cellFolder(world, seed);
  const { actor, at, manifestId: id, stateRoot } = restore;
  const marker = { actor, at, id, liveRootMatch: liveRootMatch(restore), materialized: cells.length, stateRoot, world };
  return [
    ...cells.map((cell) => ({
      path: cellFile(folder, cell.generation),
      content: `${cellText({ world, fork }, cell)}\n`,
    })),
    { path: MARKER, content: `${canonicalJson(marker)}\n` },
  ];
}

/** What its caller is told in the end. */
export interface Resumed {
  readonly id: string;
  readonly world: string;
  readonly actor: string;
  readonly stateRoot: string;
  readonly liveRoot: string | null;
  readonly liveRootMatch: boolean | null;
  readonly marker: { readonly file: string; readonly at: number };
  readonly materialized: number;
  readonly billed: number;
  readonly restoreId: string;
}

export function resumedOf(restore: Restore): Resumed {
  const { manifestId: id, world, actor, stateRoot, liveRoot, at, materialize, restoreId } = restore;
  return {
    id,
    world,
    actor,
    stateRoot,
    liveRoot,
    liveRootMatch: liveRootMatch(restore),
    marker: { file: MARKER, at },
    materialized: materialize ? GENERATIONS.length : 0,
    billed: materialize ? PRICE : 0,
    restoreId,
  };
}

/** The session under which the lease is held for it; nobody else can have it. */
export function leaseOf(restoreId: string): string {
  return hash('sha256', `svc-universe-restore\0${restoreId}`);
}

const HOLDER = 'restore:';

export function holderOf(restoreId: string): string {
  return `${HOLDER}${restoreId}`;
}

/** It is over in a moment. */
export function isRestore(holder: unknown): boolean {
  return typeof holder === 'string' && holder.startsWith(HOLDER);
}
