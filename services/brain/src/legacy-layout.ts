/**
 * The marker of the data directory's layout, and the import of an old single-brain layout: flat text files or category
 * directories at the data root, or in directories that the operator names. Files are copied, never moved.
 */
import { hash, randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { isFilePath, normalPath } from '@svc/contract/names.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import { isSharerLock } from '@svc/runtime/data-lock.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { isAbsent, fsyncPath } from './files/fsync.ts';
import { decodeText } from './files/file-entry.ts';
import type { AskedBrain } from './brain/brain-router.ts';
import { commit } from './operations/commit.ts';
import { changeFile } from './operations/files.ts';

const LAYOUT_VERSION = 3;
const NOT_TAKEN = 'not text of at most 1 MiB';

/** What is kept at the data root and is no old layout; everything else there that is text is from an old layout. */
const OWN_ENTRIES = new Set([
  'brains',
  'worktrees',
  'journal',
  'cache',
  'backups',
  'audit',
  'database',
  'layout.json',
  'shown-hash.key',
  'service.lock',
  'service.address',
  // That of a file system, at the root of a volume.
  'lost+found',
]);

const DRAFTED = ['layout.json.', 'shown-hash.key.', 'service.lock.', 'service.address.'];

/** Drafts of files, `<name>.<draft>`, are ours too. */
function isOwnEntry(name: string): boolean {
  return OWN_ENTRIES.has(name) || isSharerLock(name) || DRAFTED.some((file) => name.startsWith(file));
}

interface LayoutStatus {
  readonly markerVersion: number | null;
  readonly targetVersion: typeof LAYOUT_VERSION;
  readonly upToDate: boolean;
  readonly legacy: boolean;
  readonly guidance: string | null;
}

const Marker = z.object({
  layout: z.int().min(1),
  /** Milliseconds since the epoch. */
  at: z.number().optional(),
  imported: z.int().optional(),
  kept: z.int().optional(),
  /** What the imported layout was called; absent when there was none. */
  previousBrain: z.string().optional(),
});
type Marker = z.output<typeof Marker>;

/** An old brain that was taken over, `at` in ms since the epoch. */
export interface Inheritance {
  readonly previousBrain: string;
  readonly at: number;
}

interface LegacyFile {
  readonly source: string;
  /** Where it goes in the brain. */
  readonly path: string;
  /** The directory it was found below. */
  readonly root: string;
}

interface Found {
  readonly files: LegacyFile[];
  /** What cannot be taken. */
  readonly failed: string[];
}

interface LegacyOptions {
  readonly dataDir: string;
  /** Directories besides the data root. */
  readonly legacyDirs: readonly string[];
  readonly platform: Pick<Platform, 'clock' | 'log'>;
}

export class LegacyLayout {
  readonly #options: LegacyOptions;
  #marker: Marker | null = null;
  #guidance: string | null = null;

  constructor(options: LegacyOptions) {
    this.#options = options;
  }

  status(): LayoutStatus {
    const markerVersion = this.#marker?.layout ?? null;
    return {
      markerVersion,
      targetVersion: LAYOUT_VERSION,
      upToDate: markerVersion === LAYOUT_VERSION,
      legacy: this.#guidance !== null,
      guidance: this.#guidance,
    };
  }

  /** Null = nothing was ever imported. */
  inheritance(): Inheritance | null {
    const { previousBrain, at = 0 } = this.#marker ?? {};
    return previousBrain === undefined ? null : { previousBrain, at };
  }

  /** Reads the marker. Throws BRAIN_LOAD_FAIL (503) when a newer version of the service wrote this directory. */
  async open(): Promise<void> {
    this.#marker = await readMarker(this.#markerFile());
    if (this.#marker !== null && this.#marker.layout > LAYOUT_VERSION) {
      throw new CallError('BRAIN_LOAD_FAIL', 'The data directory was written by a newer version.', {}, 503);
    }
  }

  /** Imports what it finds into the brain, once. A failure leaves no marker: the next start goes on from there. */
  async migrate(brain: AskedBrain): Promise<void> {
    if (this.#marker !== null) return;
    let imported = 0;
    let kept = 0;
    const { files, failed } = await this.#findFiles();
    for (const file of files) {
      const outcome = await this.#importFile(brain, file).catch((error: unknown) => {
        this.#options.platform.log.warn({ err: error, file: file.source }, 'a legacy file could not be imported');
        return 'failed' as const;
      });
      if (outcome === 'failed') failed.push(file.source);
      else if (outcome === 'imported') imported += 1;
      else kept += 1;
    }
    if (failed.length > 0) {
      const named = failed
        .slice(0, 10)
        .map((file) => basename(file))
        .join(', ');
      this.#guidance = `${failed.length} files of the old layout could not be imported: ${named}. Repair them and start again.`;
      return;
    }
    if (imported > 0) await brain.ask(commit, { branch: 'main', message: 'import legacy layout', only: null });
    const at = this.#options.platform.clock.now();
    await this.#writeMarker({ layout: LAYOUT_VERSION, at, imported, kept, ...this.#namedAfter(files) });
  }

  async #importFile(brain: AskedBrain, { source, path }: LegacyFile): Promise<'imported' | 'kept'> {
    if ((await lstat(source)).size > MAX_CONTENT_BYTES) throw new Error(NOT_TAKEN);
    const bytes = await readFile(source);
    const text = decodeText(bytes);
    if (text === null) throw new Error(NOT_TAKEN);
    const written = await brain.ask(changeFile, { branch: 'main', path, content: text, ifMatch: 'none' });
    if (!written.decision.ok) {
      if (written.decision.code === 'E_CONFLICT') return 'kept'; // the brain's own file wins
      throw new Error(written.decision.code);
    }
    if (written.decision.value.hash !== hash('sha256', bytes, 'hex'))
      throw new Error('the copy differs from its source');
    return written.decision.value.changed ? 'imported' : 'kept';
  }

  async #findFiles(): Promise<Found> {
    const { dataDir, legacyDirs } = this.#options;
    const found: Found = { files: [], failed: [] };
    for (const child of (await readChildren(dataDir)) ?? []) {
      if (!isOwnEntry(child.name)) await collect(resolve(dataDir), child.name, child, found);
    }
    for (const directory of legacyDirs) {
      const root = resolve(directory);
      const children = (await readChildren(root)) ?? [];
      if (children.length === 0) found.failed.push(directory);
      for (const child of children) await collect(root, child.name, child, found);
    }
    return found;
  }

  /** An old brain is called like its directory; one the operator names goes before the data root. */
  #namedAfter(files: readonly LegacyFile[]): { readonly previousBrain?: string } {
    const roots = [...this.#options.legacyDirs, this.#options.dataDir].map((directory) => resolve(directory));
    const root = roots.find((candidate) => files.some((file) => file.root === candidate));
    return root === undefined ? {} : { previousBrain: basename(root) };
  }

  async #writeMarker(marker: Marker): Promise<void> {
    const file = this.#markerFile();
    const temp = `${file}.${randomUUID()}.tmp`; // several processes may start on one directory at once
    await writeFile(temp, `${JSON.stringify(marker)}\n`, { flush: true });
    await rename(temp, file);
    await fsyncPath(this.#options.dataDir);
    this.#marker = marker;
    this.#guidance = null;
  }

  #markerFile(): string {
    return join(this.#options.dataDir, 'layout.json');
  }
}

/** `path`: below `root`. A link is not followed: what it points to may be anybody's, or have no end. */
async function collect(root: string, path: string, entry: Dirent, found: Found): Promise<void> {
  if (entry.name.startsWith('.')) return;
  const source = join(root, path);
  if (entry.isFile()) found.files.push({ source, path: legalPath(path), root });
  else if (entry.isSymbolicLink()) found.failed.push(source);
  else if (entry.isDirectory()) {
    const children = await readChildren(source);
    if (children === null) found.failed.push(source);
    for (const child of children ?? []) await collect(root, `${path}/${child.name}`, child, found);
  }
}

/** An illegal name is kept beside the rest, under a name that tells two of them apart. */
function legalPath(path: string): string {
  const composed = normalPath(path);
  if (isFilePath(composed)) return composed;
  const safe =
    basename(path)
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 60) || 'file';
  return `imported/${safe.replace(/\.+$/, '')}-${hash('sha256', path, 'hex').slice(0, 8)}`;
}

/** Null = it cannot be read. */
function readChildren(directory: string): Promise<Dirent[] | null> {
  return readdir(directory, { withFileTypes: true }).catch(() => null);
}

async function readMarker(file: string): Promise<Marker | null> {
  try {
    return Marker.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (isAbsent(error)) return null;
    throw new CallError('BRAIN_LOAD_FAIL', 'The layout marker of the data directory is damaged.', {}, 503);
  }
}
