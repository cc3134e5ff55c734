/**
 * What `git fsck` found, which reads all that the branches name, remembered for a while: a brain that is damaged is asked for
 * as often as one that is sound. Whatever comes to the objects, or goes from them, ends it at once.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileStamp } from '../files/file-stamp.ts';
import { isAbsent } from '../files/fsync.ts';
import type { Fsck } from './boot-repair.ts';

/** An object that is mended in its own place leaves no trace in its directory. */
const KEPT_MS = 10_000;
const KEPT_REPOSITORIES = 512;

interface Look {
  readonly at: number;
  readonly of: string;
  readonly damage: Promise<string | null>;
}

/** `now`: ms on a clock that never goes back. */
export function rememberDamage(fsck: Fsck, now: () => number): Fsck {
  const looks = new Map<string, Look>();
  return (repository, scope) => {
    const { gitDir } = repository;
    const of = `${scope.join(' ')} ${objectsStamp(join(gitDir, 'objects'))} ${stampOf(join(gitDir, 'shallow'))}`;
    const known = looks.get(gitDir);
    if (known?.of === of && now() - known.at < KEPT_MS) return known.damage;
    const look = { at: now(), of, damage: fsck(repository, scope) };
    if (looks.size >= KEPT_REPOSITORIES) looks.clear();
    looks.set(gitDir, look);
    look.damage.catch(() => looks.delete(gitDir)); // whoever asked hears of it
    return look.damage;
  };
}

/** The directories tell of each object, and of each pack, that comes or goes. */
function objectsStamp(objects: string): string {
  try {
    return [objects, ...readdirSync(objects).map((name) => join(objects, name))].map(stampOf).join(' ');
  } catch (error) {
    if (isAbsent(error)) return '';
    throw error;
  }
}

function stampOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : fileStamp(stat);
}
