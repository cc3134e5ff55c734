/**
 * Contexts that were built, kept for a while in the process that owns their brain, so that every process gives them again.
 */
import { LRUCache } from 'lru-cache';
import type { AssembledContext } from './domain/assemble.ts';

export const KEPT_MS = 300_000;
const KEPT_BYTES = 32 * 1024 * 1024;

/** By everything that decides what they say. */
export type KeptContexts = LRUCache<string, AssembledContext>;

export function createKeptContexts(): KeptContexts {
  return new LRUCache({
    maxSize: KEPT_BYTES,
    // With what stands around the text.
    sizeCalculation: ({ text, citations }) => 2 * text.length + 200 * citations.length + 2000,
    ttl: KEPT_MS,
  });
}
