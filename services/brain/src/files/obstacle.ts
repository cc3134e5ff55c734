/** What people may put in the way to a file of a working tree. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';

/** Whether there is a link, or another thing that is no directory, on the way to `path`. */
export function leadsAstray(root: string, path: string): boolean {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    const stat = lstatSync(join(root, path.slice(0, end)), { throwIfNoEntry: false });
    if (stat === undefined) return false;
    if (!stat.isDirectory()) return true;
  }
  return false;
}

/** Why nothing may be written at `path`; null when nothing is in the way. */
export function obstacleAt(root: string, path: string): string | null {
  if (leadsAstray(root, path)) return 'leads through something that is no directory';
  const stat = lstatSync(join(root, path), { throwIfNoEntry: false });
  return stat === undefined || stat.isFile() ? null : 'is not a plain file';
}
