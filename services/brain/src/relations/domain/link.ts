/** What belongs together: a graph of names, walked in both directions. */
import { isFilePath } from '@svc/contract/names.ts';
import { filesMeant } from '../../records/domain/resolution.ts';

export const LINK_LIMITS = { links: 10_000, nameLength: 200, depth: 6, nodes: 500, connections: 1000 } as const;
export const LINK_TYPE = /^[a-z][a-z0-9-]{0,31}$/;
export const DEFAULT_LINK = 'relates';

export interface Link {
  readonly from: string;
  readonly to: string;
  readonly type: string;
}

export type Connection = Link & {
  /** 1 = at the start. */
  readonly depth: number;
};

export interface Connected {
  readonly connections: readonly Connection[];
  /** Names that were reached, the start among them. */
  readonly nodes: number;
  /** There is more than is told. */
  readonly truncated: boolean;
}

/** The files that a name may mean, as the path of one or as the name of an island. */
export function filesOfName(name: string): readonly string[] {
  const islands = ['md', 'json'].map((extension) => `islands/${name}.${extension}`);
  const isIsland = !name.includes('/');
  return [...filesMeant(name), ...(isIsland ? islands.filter(isFilePath) : [])];
}

/** Breadth first. Linear in the number of links. */
export function connectionsFrom(start: string, depth: number, links: readonly Link[]): Connected {
  const incident = byName(links);
  const reached = new Set([start]);
  const told = new Set<Link>();
  const connections: Connection[] = [];
  let truncated = false;
  let frontier = [start];
  for (let level = 1; level <= depth && frontier.length > 0; level += 1) {
    const next: string[] = [];
    for (const name of frontier) {
      for (const link of incident.get(name) ?? []) {
        if (told.has(link)) continue;
        const other = link.from === name ? link.to : link.from;
        const isFull = connections.length === LINK_LIMITS.connections;
        if (isFull || (!reached.has(other) && reached.size === LINK_LIMITS.nodes)) {
          truncated = true;
          continue;
        }
        told.add(link);
        connections.push({ ...link, depth: level });
        if (reached.has(other)) continue;
        reached.add(other);
        next.push(other);
      }
    }
    frontier = next;
  }
  return { connections, nodes: reached.size, truncated };
}

function byName(links: readonly Link[]): Map<string, Link[]> {
  const incident = new Map<string, Link[]>();
  const note = (name: string, link: Link): void => {
    const known = incident.get(name);
    if (known === undefined) incident.set(name, [link]);
    else known.push(link);
  };
  for (const link of links) {
    note(link.from, link);
    note(link.to, link);
  }
  return incident;
}
