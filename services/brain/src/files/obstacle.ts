/** What people may put in the way to a file of a working tree. */
import { join } from 'node:path';
import { lookAt } from './fsync.ts';

/** Whether there is a link, or another thing that is no directory, on the way to `path`, or one that may not be entered. */
export function leadsAstray(root: string, path: string): boolean {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    const stat = lookAt(join(root, path.slice(0, end)));
    if (stat === undefined) return false;
    if (stat === 'closed' || !stat.isDirectory()) return true;
  }
  return false;
}

/** Why nothing may be written at `path`; null when nothing is in the way. */
export function obstacleAt(root: string, path: string): string | null {
  const stat = leadsAstray(root, path) ? 'closed' : lookAt(join(root, path));
  if (stat === 'closed') return 'leads through something that is no directory, or that the service may not enter';
  return stat === undefined || stat.isFile() ? null : 'is not a plain file';
}
