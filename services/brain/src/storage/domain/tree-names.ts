/** What names of files say about the directories that they lie in. Names are those of a branch: no row says that there is a directory. */
import { hasExtension } from '@svc/contract/names.ts';

/** The root of a branch, as callers name it. */
const ROOT_NAMES: ReadonlySet<string> = new Set(['', '.', '/']);

export function isRoot(path: string): boolean {
  return ROOT_NAMES.has(path);
}

/** What every path below the directory starts with; '' = the root. */
export function prefixOf(directory: string): string {
  return directory === '' ? '' : `${directory}/`;
}

export interface TreeName {
  readonly path: string;
  readonly type: 'file' | 'dir';
}

/** In order of paths: what lies in a directory, or with `deep` everything below it. */
export function namesBelow(paths: Iterable<string>, directory: string, deep: boolean): TreeName[] {
  const prefix = prefixOf(directory);
  const found = new Map<string, TreeName['type']>();
  for (const path of paths) {
    if (!path.startsWith(prefix)) continue;
    for (let end = path.indexOf('/', prefix.length); end !== -1; end = path.indexOf('/', end + 1)) {
      found.set(path.slice(0, end), 'dir');
      if (!deep) break;
    }
    if (deep || !path.includes('/', prefix.length)) found.set(path, 'file');
  }
  return inOrder(Array.from(found, ([path, type]) => ({ path, type })));
}

export function inOrder(names: readonly TreeName[]): TreeName[] {
  return names.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(prefixOf(directory));
}

/** What the copy of a file is called: a name without an extension gets that of the file. */
export function nameOfCopy(from: string, to: string): string {
  if (hasExtension(to) || !hasExtension(from)) return to;
  return to + from.slice(from.lastIndexOf('.'));
}
