/** The islands of a branch as one subject sees them. */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  contentOf,
  Island,
  IslandContent,
  islandFiles,
  namedIn,
  isSourced,
  MAX_APPENDED_BYTES,
  readIsland,
  truncated,
} from '../domain/island/island.ts';
import type { RowView } from '../ports.ts';
import { Slices } from '../thread/slices.ts';
import type { BranchView, ViewedFile } from './branch-view.ts';

export const IslandRow = Island.extend({ file: z.string(), hash: z.string() });
export type IslandRow = Readonly<z.output<typeof IslandRow>>;

export const IslandPage = z.strictObject({
  /** In order of their names. */
  islands: z.array(IslandRow).readonly(),
  /** The last name of the page when there are more. */
  next: z.string().nullable(),
});
export type IslandPage = z.output<typeof IslandPage>;

export const LoadedIsland = z.strictObject({
  island: IslandRow,
  /** Of a text island with the files of its sources, when those were asked for. */
  content: IslandContent,
  /** The files that were appended. */
  files: z.array(z.string()).readonly(),
  /** More would have been appended than an island carries. */
  truncated: z.boolean(),
});
export type LoadedIsland = Readonly<z.output<typeof LoadedIsland>>;

/** Definitions that travel together, as JSON. */
const PAGE_BYTES = 1024 * 1024;
const REMEMBERED_ISLANDS = 10_000;
const NOT_TEXT = '';

interface Seen {
  readonly branch: string;
  readonly view: BranchView;
  readonly rows: RowView;
}

export class IslandReader {
  /** What a file said, by its path and hash; only files that everybody sees alike. */
  readonly #remembered = new LRUCache<string, Island>({
    // Not `max`, which takes room for all of them at once, in every open brain.
    maxSize: REMEMBERED_ISLANDS,
    sizeCalculation: () => 1,
  });

  /** Definitions of the readable islands with names after `after`. */
  async list(seen: Seen, after: string | null): Promise<IslandPage> {
    const files = firstOfEachName(await seen.view.paths(), seen.rows);
    const islands: IslandRow[] = [];
    let bytes = 0;
    const slices = new Slices();
    for (const [name, path] of files) {
      if (slices.isOver) await slices.pause();
      if (after !== null && name <= after) continue;
      if (bytes > PAGE_BYTES) return { islands, next: islands.at(-1)?.name ?? null };
      const file = await seen.view.read(path);
      const row = file === null ? null : this.#rowOf(seen, file);
      if (row === null) continue;
      islands.push(row);
      bytes += JSON.stringify(row).length;
    }
    return { islands, next: null };
  }

  /** Null when there is none that the subject may read. */
  async read(seen: Seen, name: string, append: boolean): Promise<LoadedIsland | null> {
    for (const path of islandFiles(name)) {
      const file = seen.rows.mayRead(path) ? await seen.view.read(path) : null;
      const island = file === null ? null : this.#rowOf(seen, file);
      if (file === null || island === null) continue;
      const content = contentOf(island.kind, shownText(seen.rows, file) ?? NOT_TEXT);
      if (content.kind === 'data' || !append || island.source.length === 0) {
        return { island, content, files: [], truncated: false };
      }
      const appended = await appendSources(seen, content.text, island);
      return { island, ...appended };
    }
    return null;
  }

  /** Null when the file must not be shown. */
  #rowOf({ branch, rows }: Seen, file: ViewedFile): IslandRow | null {
    const island = rows.hides(file.file) ? partlyShown(rows, file) : this.#parsed(file);
    return island === null ? null : { ...island, file: file.file, hash: rows.shownHash(branch, file.file, file.hash) };
  }

  #parsed({ file, hash, text }: ViewedFile): Island | null {
    const key = `${file}\0${hash}`;
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const island = describeIsland(file, text);
    if (island !== null) this.#remembered.set(key, island);
    return island;
  }
}

/** A file that is no text is no valid island. */
export function describeIsland(file: string, text: string | null): Island | null {
  const island = readIsland(file, text ?? NOT_TEXT);
  return island === null || text !== null ? island : { ...island, enabled: false, invalid: true, populated: false };
}

/** What is hidden does not show, but an island that is switched off is so for everybody. */
function partlyShown(rows: RowView, file: ViewedFile): Island | null {
  const real = describeIsland(file.file, file.text);
  const text = shownText(rows, file);
  const shown = text === null ? null : readIsland(file.file, text);
  return real === null || shown === null ? null : { ...shown, enabled: real.enabled, invalid: real.invalid };
}

function shownText(rows: RowView, { file, text }: ViewedFile): string | null {
  return text === null ? null : rows.shown(file, text);
}

/** The file of each readable island by its name, in order of the names. */
function firstOfEachName(paths: Iterable<string>, rows: RowView): [string, string][] {
  const found = new Map<string, string>();
  for (const file of paths) {
    const named = namedIn(file);
    if (named === null || !rows.mayRead(file)) continue;
    if (named.kind === 'text' || !found.has(named.name)) found.set(named.name, file);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

const BETWEEN = '\n\n';

async function appendSources(
  { view, rows }: Seen,
  text: string,
  { file: own, source }: IslandRow,
): Promise<Pick<LoadedIsland, 'content' | 'files' | 'truncated'>> {
  const files: string[] = [];
  let appended = '';
  let left = MAX_APPENDED_BYTES;
  const sourced = [...(await view.paths())].filter((file) => file !== own && isSourced(source, file));
  const slices = new Slices();
  for (const file of sourced.filter(rows.mayRead).sort()) {
    if (slices.isOver) await slices.pause();
    const found = await view.read(file);
    const shown = found === null ? null : shownText(rows, found);
    if (shown === null) continue;
    const part = truncated(BETWEEN + shown, left);
    if (part.length > BETWEEN.length) {
      files.push(file);
      appended += part;
      left -= Buffer.byteLength(part);
    }
    if (part.length < BETWEEN.length + shown.length) {
      return { content: { kind: 'text', text: text + appended }, files, truncated: true };
    }
  }
  return { content: { kind: 'text', text: text + appended }, files, truncated: false };
}
