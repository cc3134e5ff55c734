/**
 * Which files of a brain are at home elsewhere than the brain. A path stays at home where it was first, also when the
 * file is removed and made again, so that nobody comes to a file of others by that.
 */
import type { SqlClient } from '@svc/runtime/database.ts';
import { fileOf } from '../domain/island/island.ts';
import { islandKey } from '../domain/resource-keys.ts';
import type { Home } from './home-store.ts';

/** A path that something is to be noted of. */
export interface HomeNote {
  readonly path: string;
  /** Null = where the brain is. */
  readonly workspace: string | null;
}

export class FileHomes {
  /** Of the brain. */
  readonly home: Home;
  readonly #homes: Map<string, string | null>;
  readonly #workspaces = new Map<string, Set<string>>();

  constructor(home: Home, homes: Map<string, string | null>) {
    this.home = home;
    this.#homes = homes;
    for (const [path, workspace] of homes) this.#add(path, workspace);
  }

  static async read(client: SqlClient, home: Home): Promise<FileHomes> {
    const rows = await client.$queryRawUnsafe<HomeNote[]>(
      'SELECT path, workspace FROM brain.brain_file_homes WHERE brain_id = $1',
      home.id,
    );
    return new FileHomes(home, new Map(rows.map(({ path, workspace }) => [path, workspace])));
  }

  /** Null = where the brain is. */
  workspaceOf(path: string): string | null {
    return this.#homes.get(path) ?? null;
  }

  /** Where something of the brain is at home that is not where the brain is, whether or not it is there now. */
  workspaces(): Iterable<string> {
    return this.#workspaces.keys();
  }

  /** Everything that is or was at home there. */
  pathsIn(workspace: string): string[] {
    return [...(this.#workspaces.get(workspace) ?? [])];
  }

  isNoted(path: string): boolean {
    return this.#homes.has(path);
  }

  /**
   * In the transaction that makes or removes the files, before they are on disk; answers what is new. A path that another
   * branch has is at home where it is there.
   */
  async note(transaction: SqlClient, at: { brain: string; branch: string }, notes: readonly HomeNote[]) {
    const unknown = [
      ...new Map(notes.filter(({ path }) => !this.isNoted(path)).map((note) => [note.path, note])).values(),
    ];
    if (unknown.length === 0) return [];
    const written = await transaction.$queryRawUnsafe<HomeNote[]>(
      `INSERT INTO brain.brain_file_homes (brain_id, path, workspace, at)
       SELECT $1, n.path, n.workspace, clock_timestamp() FROM json_to_recordset($2::json) AS n(path text, workspace text)
       WHERE n.workspace IS NULL OR NOT EXISTS (
         SELECT 1 FROM brain.brain_files f WHERE f.brain = $3 AND f.path = n.path AND f.branch <> $4)
       ON CONFLICT DO NOTHING RETURNING path, workspace`,
      this.home.id,
      JSON.stringify(unknown),
      at.brain,
      at.branch,
    );
    for (const { path, workspace } of written) this.#add(path, workspace);
    return written;
  }

  /** What was noted in a transaction that came to nothing. */
  forget(notes: readonly HomeNote[]): void {
    for (const { path, workspace } of notes) {
      this.#homes.delete(path);
      if (workspace === null) continue;
      const paths = this.#workspaces.get(workspace);
      paths?.delete(path);
      if (paths?.size === 0) this.#workspaces.delete(workspace);
    }
  }

  #add(path: string, workspace: string | null): void {
    this.#homes.set(path, workspace);
    if (workspace === null) return;
    const paths = this.#workspaces.get(workspace) ?? new Set();
    this.#workspaces.set(workspace, paths.add(path));
  }
}

interface HomesOfResource {
  /** Where the thing itself is at home; null = nobody has made it its own. */
  readonly own: string | null;
  /** Where the brain is at home that it lies in; null = there is no such brain. */
  readonly brain: string | null;
}

const NOWHERE: HomesOfResource = { own: null, brain: null };
const BRAIN = 'brain:';
const ISLAND = islandKey('');

export function readHomesOfResource(client: SqlClient, resource: string): Promise<HomesOfResource> {
  if (resource.startsWith(ISLAND)) {
    const name = resource.slice(ISLAND.length);
    return readIslandHome(client, [fileOf(name, 'text'), fileOf(name, 'data')]);
  }
  const [brain = '', ...path] = resource.slice(BRAIN.length).split('/');
  return readHomesOf(client, brain, path.length === 0 ? null : path.join('/'));
}

/** `file` null = the brain as a whole. */
async function readHomesOf(client: SqlClient, brain: string, file: string | null): Promise<HomesOfResource> {
  const [row] = await client.$queryRawUnsafe<HomesOfResource[]>(
    `SELECT CASE WHEN $2::text IS NULL THEN b.workspace ELSE h.workspace END AS own, b.workspace AS brain
     FROM brain.brain_homes b LEFT JOIN brain.brain_file_homes h ON h.brain_id = b.id AND h.path = $2 WHERE b.brain = $1`,
    brain,
    file,
  );
  return row ?? NOWHERE;
}

/** Of an island by its files: where all those of that name are at home; null = in several places, or there is none. */
async function readIslandHome(client: SqlClient, files: readonly string[]): Promise<HomesOfResource> {
  const rows = await client.$queryRawUnsafe<{ home: string }[]>(
    `SELECT DISTINCT coalesce(h.workspace, b.workspace) AS home
     FROM brain.brain_files f JOIN brain.brain_homes b ON b.brain = f.brain
     LEFT JOIN brain.brain_file_homes h ON h.brain_id = b.id AND h.path = f.path
     WHERE f.path = ANY($1::text[]) LIMIT 2`,
    files,
  );
  return { ...NOWHERE, own: rows.length === 1 ? (rows[0]?.home ?? null) : null };
}

/** Forgets where files were at home that are on no branch any more, and long ago were made; not those of kept brains. */
export async function sweepHomes(client: SqlClient, keptDays: number): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM brain.brain_file_homes h WHERE at < now() - make_interval(days => $1::int)
       AND NOT EXISTS (SELECT 1 FROM brain.brain_homes b JOIN brain.brain_files f ON f.brain = b.brain AND f.path = h.path
                       WHERE b.id = h.brain_id)
       AND NOT EXISTS (SELECT 1 FROM brain.brain_deleted d WHERE d.id = h.brain_id)`,
    keptDays,
  );
}
