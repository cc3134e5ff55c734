/** One hash over names, kinds and contents of everything below a folder. */
import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';

/** `ignored` gets paths relative to the folder; what lies below an ignored path is not looked at. */
export function treeHash(folder: string, ignored: (path: string) => boolean): string {
  const hash = createHash('sha256');
  const visit = (current: string): void => {
    for (const entry of readdirSync(current, { withFileTypes: true }).sort(byName)) {
      const full = join(current, entry.name);
      const path = relative(folder, full);
      if (ignored(path)) continue;
      hash.update(`${path}\0${kindOf(entry)}\0`);
      if (entry.isDirectory()) visit(full);
      else if (entry.isFile()) hash.update(readFileSync(full));
      else if (entry.isSymbolicLink()) hash.update(readlinkSync(full));
    }
  };
  visit(folder);
  return hash.digest('hex');
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

function kindOf(entry: Dirent): string {
  if (entry.isDirectory()) return 'd';
  if (entry.isFile()) return 'f';
  return entry.isSymbolicLink() ? 'l' : 'o';
}
