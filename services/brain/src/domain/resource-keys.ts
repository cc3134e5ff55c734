/** Row-rule keys: what policies can be attached to on the way to a file. */

import { homeResource } from '@svc/contract/policy.ts';

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

/** Those of the thing itself, among its keys. */
export function ownKeys(brain: string, path: string): string[] {
  const island = islandOf(path);
  return [`brain:${brain}/${path}`, ...(island === null ? [] : [islandKey(island)])];
}

/** What an event of a file names: its keys, and where it is at home when that is not where the brain is. */
export function eventResources(
  { name, homes }: { readonly name: string; readonly homes: { workspaceOf(path: string): string | null } },
  path: string,
): string[] {
  const home = homes.workspaceOf(path);
  return [...resourceKeys(name, path), ...(home === null ? [] : [homeResource(home, ownKeys(name, path))])];
}

/** The island whose boundary guards the file, or null. */
export function islandOf(path: string): string | null {
  return /^islands\/([^/]+)\.[^./]+$/.exec(path)?.[1] ?? null;
}

export function islandKey(island: string): string {
  return `_island:${island}`;
}
