/** A walk over all nodes of some data: each once, and never round in a circle. */
import type { Node, Reference } from './graph.ts';
import { type Allowance, MAX_NODES } from './limits.ts';

export const TRAVERSALS = ['ids', 'values', 'leaves', 'count', 'depth'] as const;
type Traversal = (typeof TRAVERSALS)[number];

export interface Walk {
  readonly order: 'depth' | 'breadth';
  readonly maxDepth: number;
}

interface Walked {
  readonly visited: number;
  readonly result: unknown;
  readonly depth: number;
  /** Ids from a node round to itself. */
  readonly cycles: readonly (readonly string[])[];
  /** Ids that nodes lead to and that there are not. */
  readonly missing: readonly string[];
  readonly truncated: boolean;
}

/** Where a walk stands: how it came here, innermost first. */
interface Step {
  readonly reference: Reference;
  readonly depth: number;
  readonly from: Step | null;
}

interface Found {
  readonly nodes: Node[];
  readonly cycles: string[][];
  readonly missing: Set<string>;
  depth: number;
  truncated: boolean;
}

export function traverse(operation: Traversal, root: Reference, walk: Walk, allowance: Allowance): Walked {
  const found = walked(root, walk, allowance);
  const { nodes, cycles, missing, depth, truncated } = found;
  return {
    visited: nodes.length,
    ...resultOf(operation, found, allowance, truncated),
    depth,
    cycles,
    missing: [...missing],
  };
}

function walked(root: Reference, { order, maxDepth }: Walk, allowance: Allowance): Found {
  const found: Found = { nodes: [], cycles: [], missing: new Set(), depth: 0, truncated: false };
  const seen = new Set<string>();
  const waiting = createWaiting(order);
  waiting.add([{ reference: root, depth: 0, from: null }]);
  for (let step = waiting.take(); step !== undefined; step = waiting.take()) {
    const { reference, depth } = step;
    // Ways that lead back cost time too, and there are far more of them than nodes.
    if (allowance.isOver()) {
      found.truncated = true;
      break;
    }
    const cycle = cycleAt(step);
    if (cycle !== null) note(found, allowance, () => found.cycles.push(cycle), cycle);
    if (cycle !== null || seen.has(reference.id)) continue;
    if (depth > maxDepth || found.nodes.length >= MAX_NODES) {
      found.truncated = true;
      if (depth > maxDepth) continue;
      break;
    }
    const node = reference.read();
    if (node === null) {
      note(found, allowance, () => found.missing.add(reference.id), reference.id);
      continue;
    }
    seen.add(node.id);
    found.nodes.push(node);
    found.depth = Math.max(found.depth, depth);
    waiting.add(node.below.map((below) => ({ reference: below, depth: depth + 1, from: step ?? null })));
  }
  return found;
}

function note(found: Found, allowance: Allowance, add: () => void, value: unknown): void {
  if (allowance.takes(value)) add();
  else found.truncated = true;
}

/** From the node round to itself, when it stands on its own way; no way is longer than the depth of a walk. */
function cycleAt({ reference: { id }, from }: Step): string[] | null {
  const round = [id];
  for (let step = from; step !== null; step = step.from) {
    round.push(step.reference.id);
    if (step.reference.id === id) return round.reverse();
  }
  return null;
}

/** What is taken next: the first of the deepest, or the first of all. */
function createWaiting(order: Walk['order']) {
  const steps: Step[] = [];
  let taken = 0;
  return {
    add(more: readonly Step[]): void {
      const inOrder = order === 'depth' ? more.toReversed() : more;
      for (const step of inOrder) steps.push(step);
    },
    take(): Step | undefined {
      if (order === 'depth') return steps.pop();
      taken += 1;
      return steps[taken - 1];
    },
  };
}

type Shown = Pick<Walked, 'result' | 'truncated'>;

function resultOf(operation: Traversal, { nodes, depth }: Found, allowance: Allowance, truncated: boolean): Shown {
  if (operation === 'count') return { result: nodes.length, truncated };
  if (operation === 'depth') return { result: depth, truncated };
  const all = shownBy[operation](nodes);
  const end = all.findIndex((value) => !allowance.takes(value));
  return end < 0 ? { result: all, truncated } : { result: all.slice(0, end), truncated: true };
}

const shownBy: Record<'ids' | 'values' | 'leaves', (nodes: readonly Node[]) => unknown[]> = {
  ids: (nodes) => nodes.map(({ id }) => id),
  values: (nodes) => nodes.filter((node) => Object.hasOwn(node, 'value')).map(({ value }) => value),
  leaves: (nodes) => nodes.filter(({ below }) => below.length === 0).map(({ id }) => id),
};
