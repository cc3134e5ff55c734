/** The extension of git's index that remembers the tree ids of directories, so that `git commit` need not make them again. */

import { encodePath } from './path-bytes.ts';

/** The extension with the directories of these paths marked as changed; null when it cannot be understood. */
export function invalidateCacheTree(extension: Buffer, paths: readonly string[]): Buffer | null {
  const touched = new Set<string>(['']);
  for (const path of paths) {
    const name = encodePath(path).toString('latin1');
    for (let slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
      touched.add(name.slice(0, slash));
    }
  }
  const parts: Buffer[] = [];
  /** Directories whose own subtrees follow, with how many are still to come. */
  const open: { path: string; left: number }[] = [];
  for (let at = 0; at < extension.length; ) {
    const row = parseRow(extension, at);
    if (row === null) return null;
    const parent = open.at(-1);
    const path = parent === undefined || parent.path === '' ? row.name : `${parent.path}/${row.name}`;
    if (parent !== undefined) parent.left -= 1;
    parts.push(
      touched.has(path) ? Buffer.from(`${row.name}\0-1 ${row.subtrees}\n`, 'latin1') : extension.subarray(at, row.end),
    );
    open.push({ path, left: row.subtrees });
    while (open.at(-1)?.left === 0) open.pop();
    at = row.end;
  }
  return open.length === 0 ? Buffer.concat(parts) : null;
}

interface CacheTreeRow {
  readonly name: string;
  readonly subtrees: number;
  readonly end: number;
}

/** `<name>` NUL `<entries> <subtrees>` LF, then the tree's id unless `entries` is negative. */
function parseRow(extension: Buffer, at: number): CacheTreeRow | null {
  const nameEnd = extension.indexOf(0, at);
  const lineEnd = extension.indexOf(0x0a, nameEnd + 1);
  if (nameEnd < 0 || lineEnd < 0) return null;
  const counts = /^(-?\d+) (\d+)$/.exec(extension.toString('latin1', nameEnd + 1, lineEnd));
  if (counts === null) return null;
  const end = lineEnd + 1 + (Number(counts[1]) < 0 ? 0 : 20);
  if (end > extension.length) return null;
  return { name: extension.toString('latin1', at, nameEnd), subtrees: Number(counts[2]), end };
}
