/** What there is left on a disk, for the sentences of a start. */
import { statfsSync } from 'node:fs';

const MIB = 1024 * 1024;

/** Whole MiB, or `unknown`. */
export function freeMib(path: string): string {
  try {
    const { bavail, bsize } = statfsSync(path);
    return String(Math.floor((bavail * bsize) / MIB));
  } catch {
    return 'unknown';
  }
}
