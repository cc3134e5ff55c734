/** Remembers where the service itself moved references lately, to tell its own commits from those made by hand. */
import { LRUCache } from 'lru-cache';
import type { Repository } from './repository.ts';

const REMEMBERED = 1_000;

const moves = new WeakMap<Repository, LRUCache<string, true>>();

/** Called before the reference moves, so that nobody sees the new commit before it is known as ours. */
export function noteOwnMove(repository: Repository, commit: string): void {
  const known = moves.get(repository) ?? new LRUCache<string, true>({ max: REMEMBERED });
  moves.set(repository, known);
  known.set(commit, true);
}

export function isOwnMove(repository: Repository, commit: string): boolean {
  return moves.get(repository)?.has(commit) === true;
}
