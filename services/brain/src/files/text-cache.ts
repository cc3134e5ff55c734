/** Texts by the hash of their bytes, shared by every working tree of the process; the longest unused go first. */
import { LRUCache } from 'lru-cache';

const MAX_BYTES = 64 * 1024 * 1024;
/** What an entry costs besides its text. */
const OVERHEAD_BYTES = 256;

export const textCache = new LRUCache<string, string>({
  maxSize: MAX_BYTES,
  sizeCalculation: (text) => 2 * text.length + OVERHEAD_BYTES,
});
