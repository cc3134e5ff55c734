/** Which file a name without an extension means. */

const EXTENSION = /\.[A-Za-z][A-Za-z0-9]{0,9}$/;

/** True when the last segment has an extension: a dot, a letter, up to nine letters or digits. */
export function hasExtension(path: string): boolean {
  return EXTENSION.test(path.slice(path.lastIndexOf('/') + 1));
}

/** The paths that `path` may mean at once, in order of look-up; the last one is what a new file is called. */
export function candidatePaths(path: string): readonly string[] {
  return hasExtension(path) ? [path] : [path, `${path}.md`];
}

/** The file that a writer means: one that is there under the name or with `.md`, else what a new one is called. */
export function decideWrite(path: string, isThere: (path: string) => boolean): string {
  const candidates = candidatePaths(path);
  return candidates.find(isThere) ?? candidates.at(-1) ?? path;
}

/** Of the given paths those that are `path` and an extension, in order. */
export function filesOfStem(path: string, paths: Iterable<string>): string[] {
  const found: string[] = [];
  for (const other of paths) {
    if (other.length > path.length && other.startsWith(path) && EXTENSION_ALONE.test(other.slice(path.length)))
      found.push(other);
  }
  return found.sort();
}

const EXTENSION_ALONE = /^\.[A-Za-z][A-Za-z0-9]{0,9}$/;
