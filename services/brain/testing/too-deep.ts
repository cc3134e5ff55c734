/** What no path leads to, although it is there. */
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

/** Makes directories in `folder` that are deeper than a path may be long; `rm -rf` can remove them. */
export function digTooDeep(folder: string): void {
  const half = Array.from({ length: 15 }, () => 'd'.repeat(200));
  const [upper, lower] = [join(folder, 'upper'), join(folder, 'lower')];
  for (const top of [upper, lower]) mkdirSync(join(top, ...half), { recursive: true });
  renameSync(lower, join(upper, ...half, 'lower'));
}
