/** Row-rule keys: what policies can be attached to on the way to a file. */

/** Outermost first. */
export function resourceKeys(brain: string, path: string): string[] {
  const keys = [`brain:${brain}`];
  for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
    keys.push(`brain:${brain}/${path.slice(0, end)}`);
  }
  keys.push(`brain:${brain}/${path}`);
  const island = islandOf(path);
  if (island !== null) keys.push(islandKey(island));
  return keys;
}

/** The island whose boundary guards the file, or null. */
export function islandOf(path: string): string | null {
  return /^islands\/([^/]+)\.[^./]+$/.exec(path)?.[1] ?? null;
}

export function islandKey(island: string): string {
  return `_island:${island}`;
}
