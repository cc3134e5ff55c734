/** What came of what: nodes with their parents, in which nothing descends from itself. Nothing is ever changed or removed. */
import { sortedJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

export const LINEAGE_LIMITS = {
  nodes: 1_000_000,
  /** Of one node, to parents and to children together. */
  edges: 1000,
  /** Of one record. */
  parents: 16,
  /** Below a node that is moved deeper. */
  edgesMoved: 100_000,
  dataBytes: 64 * 1024,
} as const;

export interface LineageNode {
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly data: string;
  /** Length of the longest way from a node without parents. */
  readonly depth: number;
  /** To parents and to children together. */
  readonly edges: number;
}

/** `text` as the caller named it: an id, or the name of an event; `node` null = there is none. */
export interface ParentRef {
  readonly text: string;
  readonly node: Pick<LineageNode, 'id' | 'depth' | 'edges'> | null;
}

export interface RecordWish {
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly data: string;
  readonly parents: readonly ParentRef[];
}

/** What is there already that the record is about. */
export interface RecordGround {
  /** In the whole workspace. */
  readonly nodes: number;
  readonly existing: LineageNode | null;
  /** Of the existing node. */
  readonly knownParents: ReadonlySet<string>;
}

export interface Recording {
  /** Not yet parents of the node, each once. */
  readonly newParents: readonly string[];
  readonly depth: number;
}

type Refusal = 'E_LINEAGE_PARENT' | 'E_LINEAGE_CYCLE' | 'E_CONFLICT' | 'E_QUOTA';

/** Whether a new edge would close a ring through other nodes is for whoever has the edges to say. */
export function decideRecord(wish: RecordWish, ground: RecordGround): Decision<Recording, Refusal> {
  const { id, parents } = wish;
  const { existing, nodes } = ground;
  if (existing !== null && !isSame(wish, existing))
    return deny('E_CONFLICT', { id }, 'The id has another event or data.');
  if (parents.some(({ text, node }) => text === id || node?.id === id)) return deny('E_LINEAGE_CYCLE', { parent: id });
  const unknown = parents.find(({ node }) => node === null);
  if (unknown !== undefined) return deny('E_LINEAGE_PARENT', { parent: unknown.text });
  if (existing === null && nodes >= LINEAGE_LIMITS.nodes) return deny('E_QUOTA', { nodes: LINEAGE_LIMITS.nodes });
  return decideEdges(parents, ground);
}

function decideEdges(
  parents: readonly ParentRef[],
  { existing, knownParents }: RecordGround,
): Decision<Recording, 'E_QUOTA'> {
  const found = parents.flatMap(({ node }) => (node === null || knownParents.has(node.id) ? [] : [node]));
  const added = [...new Map(found.map((node) => [node.id, node])).values()];
  const isFull =
    (existing?.edges ?? 0) + added.length > LINEAGE_LIMITS.edges ||
    added.some(({ edges }) => edges >= LINEAGE_LIMITS.edges);
  if (isFull) return deny('E_QUOTA', { edges: LINEAGE_LIMITS.edges });
  const depth = Math.max(existing?.depth ?? 0, ...added.map((parent) => parent.depth + 1));
  return allow({ newParents: added.map(({ id }) => id), depth });
}

function isSame(wish: Pick<RecordWish, 'event' | 'data'>, existing: LineageNode): boolean {
  return wish.event === existing.event && sortedJson(JSON.parse(wish.data)) === sortedJson(JSON.parse(existing.data));
}

/** `depth`: of the child. */
export interface DeepEdge {
  readonly parent: string;
  readonly child: string;
  readonly depth: number;
}

/**
 * How deep the node and what descends from it lie, of those that lie deeper than before, when the node moves to `depth`.
 * `below`: all edges below it. Linear in them, but for their order.
 */
export function deepened(id: string, depth: number, below: readonly DeepEdge[]): Map<string, number> {
  const moved = new Map([[id, depth]]);
  // A parent lies less deep than its children, so it has come to its place before they are looked at.
  for (const edge of below.toSorted((a, b) => a.depth - b.depth)) {
    const from = moved.get(edge.parent);
    const before = moved.get(edge.child) ?? edge.depth;
    if (from !== undefined && from + 1 > before) moved.set(edge.child, from + 1);
  }
  return moved;
}
