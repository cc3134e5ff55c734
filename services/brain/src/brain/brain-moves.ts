/**
 * Brains on their way to another name or to the deleted ones. The database says that it is decided; the directories
 * follow, at once or, when the process is killed between, before anybody opens the brain again.
 */
import { existsSync, lstatSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { backupsFolder, sweepUnfinished } from '../backup/backup-files.ts';
import { fsyncPath, ignoreAbsent, isAbsent } from '../files/fsync.ts';
import {
  type BrainMove,
  endMove,
  forgetDeleted,
  isMoving,
  lockMove,
  readDeleted,
  readMoves,
} from '../store/home-store.ts';

/** Below the data directory. */
export const DELETED = join('backups', 'deleted');

interface MovePlaces {
  readonly dataDir: string;
  readonly platform: { readonly database: Pick<Database, 'pool'>; readonly log: Pick<Platform['log'], 'error'> };
}

export class BrainMoves {
  readonly #dataDir: string;
  readonly #pool: Database['pool'];
  readonly #log: MovePlaces['platform']['log'];

  constructor({ dataDir, platform }: MovePlaces) {
    this.#dataDir = dataDir;
    this.#pool = platform.database.pool;
    this.#log = platform.log;
  }

  /** Carries out what was decided about a brain of that name, if anything. Throws the error of the disk. */
  async finish(brain: string): Promise<void> {
    if (!(await isMoving(poolClient(this.#pool), brain))) return;
    await withPgTransaction(this.#pool, async (transaction) => {
      const move = await lockMove(transaction, brain);
      if (move === null) return; // somebody else was faster
      await this.#carryOut(move);
      await endMove(transaction, move.brain);
    });
  }

  /** As `finish`, by whom its failure does not change what is decided: somebody does it later. */
  async follow(brain: string): Promise<void> {
    try {
      await this.finish(brain);
    } catch (err) {
      this.#log.error({ err, brain }, 'the directories of a brain could not be moved yet');
    }
  }

  async followAll(): Promise<void> {
    for (const { brain } of await readMoves(poolClient(this.#pool))) await this.follow(brain);
  }

  /** Tried beforehand: once it is decided there is no way back. `unique` names what is tried. */
  async canMove(brain: string, isDeleted: boolean, unique: string): Promise<boolean> {
    const parent = join(this.#dataDir, isDeleted ? DELETED : 'brains');
    if (['brains', 'worktrees'].some((kind) => isMounted(join(this.#dataDir, kind, brain)))) return false;
    const probe = join(this.#dataDir, 'brains', `.svc-${unique}`);
    const moved = join(parent, `.svc-${unique}-moved`);
    try {
      await mkdir(parent, { recursive: true });
      await mkdir(probe);
      await rename(probe, moved);
      return true;
    } catch {
      return false;
    } finally {
      for (const path of [probe, moved]) await rm(path, { recursive: true, force: true }).catch(() => {});
    }
  }

  /** Removes what dead processes left of backups and restores. */
  sweep(): Promise<void> {
    return sweepUnfinished({ client: poolClient(this.#pool), dataDir: this.#dataDir, log: this.#log });
  }

  /** The brain comes last: as long as it is there, it is known where the rest belongs. */
  async #carryOut({ brain, to, folder, staged }: BrainMove): Promise<void> {
    if (staged !== null) return this.#replace(brain, folder, join(backupsFolder(this.#dataDir), staged));
    const target = folder === null ? null : join(this.#dataDir, DELETED, folder);
    if (target !== null) await mkdir(target, { recursive: true });
    const goal = (kind: string): string =>
      target === null ? join(this.#dataDir, kind, to ?? brain) : join(target, kind === 'brains' ? 'brain' : kind);
    await rm(join(this.#dataDir, 'cache', brain), { recursive: true, force: true });
    for (const kind of ['worktrees', 'brains']) await moveDirectory(join(this.#dataDir, kind, brain), goal(kind));
    if (target !== null) await fsyncPath(dirname(target));
  }

  /** The new part is there as long as the old one may still be in its place. `folder` null = there is no old one. */
  async #replace(brain: string, folder: string | null, staged: string): Promise<void> {
    const target = folder === null ? null : join(this.#dataDir, DELETED, folder);
    if (target !== null) await mkdir(target, { recursive: true });
    await rm(join(this.#dataDir, 'cache', brain), { recursive: true, force: true });
    for (const [kind, part] of [
      ['worktrees', 'worktrees'],
      ['brains', 'brain'],
    ] as const) {
      if (!existsSync(join(staged, part))) continue;
      const place = join(this.#dataDir, kind, brain);
      // Working trees of a brain whose folder somebody took away are of no use without it.
      if (target === null && kind === 'worktrees') await rm(place, { recursive: true, force: true });
      if (target !== null && !existsSync(join(target, part))) await moveDirectory(place, join(target, part));
      await moveDirectory(join(staged, part), place);
    }
    if (target !== null) await fsyncPath(dirname(target));
    await rm(staged, { recursive: true, force: true });
  }
}

/** A directory on a disk of its own goes to no other place. */
function isMounted(directory: string): boolean {
  const own = lstatSync(directory, { throwIfNoEntry: false });
  return own !== undefined && own.dev !== statSync(dirname(directory)).dev;
}

/** Deleted brains that an operator took away count no more. */
export async function forgetAbsent(client: SqlClient, dataDir: string): Promise<void> {
  const kept = new Set((await readdir(join(dataDir, DELETED)).catch(ignoreAbsent)) ?? []);
  const moving = new Set((await readMoves(client)).map(({ folder }) => folder));
  const gone = (await readDeleted(client)).filter(({ folder }) => !kept.has(folder) && !moving.has(folder));
  await forgetDeleted(
    client,
    gone.map(({ folder }) => folder),
  );
}

/** Nothing when it was moved before. */
async function moveDirectory(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  try {
    await rename(from, to);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  for (const path of [dirname(from), dirname(to)]) await fsyncPath(path);
}
