/** What tells from a file's stat data alone that it has not changed since a look at it. */

/**
 * File systems tick in steps: a file changed within the same step as our look has the same times afterwards. A look
 * that close to the change is not trusted until a later one has read the bytes again.
 */
export const CLOCK_STEP_MS = 20;

/** Of `stat` with `bigint: true`. */
interface BigStat {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
}

export function fileStamp({ size, mtimeNs, ctimeNs, ino }: BigStat): string {
  return `${size}:${mtimeNs}:${ctimeNs}:${ino}`;
}
