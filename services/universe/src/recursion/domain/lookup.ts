/** A way along a chain: from each node to its `next`, or else to the first of its children. */
import type { Node, Reference } from './graph.ts';
import { MAX_DEPTH } from './limits.ts';

export const LOOKUPS = ['resolve', 'last'] as const;
export type Lookup = (typeof LOOKUPS)[number];

interface LookedUp {
  readonly found: boolean;
  /** The node itself, without what it leads to. */
  readonly item: unknown;
  readonly value: unknown;
  readonly path: readonly string[];
  readonly depth: number;
  readonly reason: 'value' | 'end' | 'cycle' | 'missing' | 'depth';
}

/** `resolve` finds the first node that has a value, `last` the end of the chain. */
export function lookup(operation: Lookup, start: Reference): LookedUp {
  const path: string[] = [];
  const seen = new Set<string>();
  const ended = (reason: LookedUp['reason'], item: unknown, value: unknown, found: boolean): LookedUp => ({
    found,
    item,
    value: value ?? null,
    path,
    depth: Math.max(0, path.length - 1),
    reason,
  });
  let reference = start;
  for (;;) {
    if (seen.has(reference.id)) return ended('cycle', null, null, false);
    if (path.length > MAX_DEPTH) return ended('depth', null, null, false);
    const node: Node | null = reference.read();
    if (node === null) return ended('missing', null, null, false);
    seen.add(node.id);
    path.push(node.id);
    if (operation === 'resolve' && Object.hasOwn(node, 'value')) return ended('value', node.item, node.value, true);
    const [next] = node.below;
    if (next === undefined) return ended('end', node.item, node.value, operation === 'last');
    reference = next;
  }
}
