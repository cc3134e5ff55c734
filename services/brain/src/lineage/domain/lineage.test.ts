import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decideRecord,
  type DeepEdge,
  deepened,
  LINEAGE_LIMITS,
  type LineageNode,
  type RecordGround,
  type RecordWish,
} from './lineage.ts';

const NOTHING: RecordGround = { nodes: 0, existing: null, knownParents: new Set() };
const node = (id: string, more: Partial<LineageNode> = {}): LineageNode => ({
  id,
  event: id,
  data: '{"a":1,"b":2}',
  depth: 0,
  edges: 0,
  ...more,
});
const record = (id: string, ...parents: RecordWish['parents']): RecordWish => ({
  id,
  event: id,
  data: '{"b":2,"a":1}',
  parents,
});
const ref = (one: LineageNode) => ({ text: one.id, node: one });

it('puts a node one deeper than its deepest parent', () => {
  expect(decideRecord(record('a'), NOTHING)).toEqual({ ok: true, value: { newParents: [], depth: 0 } });
  const wish = record('c', ref(node('a', { depth: 4 })), ref(node('b', { depth: 7 })), ref(node('b', { depth: 7 })));
  expect(decideRecord(wish, NOTHING)).toEqual({ ok: true, value: { newParents: ['a', 'b'], depth: 8 } });
});

it('adds only new edges to what is there, and only when it is the same', () => {
  const ground = { nodes: 3, existing: node('c', { depth: 3 }), knownParents: new Set(['a']) };
  expect(decideRecord(record('c', ref(node('a', { depth: 2 })), ref(node('b'))), ground)).toEqual({
    ok: true,
    value: { newParents: ['b'], depth: 3 },
  });
  expect(decideRecord({ ...record('c'), data: '1' }, ground)).toMatchObject({ code: 'E_CONFLICT' });
  expect(decideRecord({ ...record('c'), event: 'd' }, ground)).toMatchObject({ code: 'E_CONFLICT' });
});

it('never makes a node its own parent, whether or not it is there', () => {
  expect(decideRecord(record('x', { text: 'x', node: null }), NOTHING)).toMatchObject({ code: 'E_LINEAGE_CYCLE' });
  const byEvent = record('x', { text: 'event', node: node('x') });
  expect(decideRecord(byEvent, { ...NOTHING, existing: node('x') })).toMatchObject({ code: 'E_LINEAGE_CYCLE' });
});

it('names the parent that is unknown', () => {
  expect(decideRecord(record('x', { text: 'gone', node: null }), NOTHING)).toMatchObject({
    code: 'E_LINEAGE_PARENT',
    details: { parent: 'gone' },
  });
});

it('keeps to its limits', () => {
  const { nodes, edges } = LINEAGE_LIMITS;
  expect(decideRecord(record('a'), { ...NOTHING, nodes: nodes - 1 })).toMatchObject({ ok: true });
  expect(decideRecord(record('a'), { ...NOTHING, nodes })).toMatchObject({ code: 'E_QUOTA' });
  expect(decideRecord(record('a'), { ...NOTHING, nodes, existing: node('a') })).toMatchObject({ ok: true });
  expect(decideRecord(record('b', ref(node('a', { edges: edges - 1 }))), NOTHING)).toMatchObject({ ok: true });
  expect(decideRecord(record('b', ref(node('a', { edges }))), NOTHING)).toMatchObject({ code: 'E_QUOTA' });
  const full = { ...NOTHING, existing: node('b', { edges }) };
  expect(decideRecord(record('b', ref(node('a'))), full)).toMatchObject({ code: 'E_QUOTA' });
});

/** Of a graph whose edges lead from a lower number to a higher one: how deep each lies, by all ways to it. */
function depthsOf(edges: readonly (readonly [number, number])[], root: number): number[] {
  const depths = Array.from({ length: 12 }, () => 0);
  depths[0] = root;
  for (const child of depths.keys())
    for (const [from, to] of edges)
      if (to === child) depths[child] = Math.max(depths[child] ?? 0, (depths[from] ?? 0) + 1);
  return depths;
}

it('moves deeper what descends from a node that moves, and nothing else', () => {
  const edge = fc.tuple(fc.integer({ min: 0, max: 11 }), fc.integer({ min: 0, max: 11 }));
  const graph = fc.array(edge, { maxLength: 40 }).map((all) => all.filter(([from, to]) => from < to));
  fc.assert(
    fc.property(graph, fc.integer({ min: 1, max: 20 }), (edges, depth) => {
      const before = depthsOf(edges, 0);
      const below = new Set([0]);
      for (const one of before.keys()) for (const [from, to] of edges) if (to === one && below.has(from)) below.add(to);
      const told = edges.flatMap(([from, to]): DeepEdge[] =>
        below.has(from) ? [{ parent: String(from), child: String(to), depth: before[to] ?? 0 }] : [],
      );
      const moved = deepened('0', depth, told);
      const after = depthsOf(edges, depth);
      expect(after.map((_, one) => moved.get(String(one)) ?? before[one])).toEqual(after);
      for (const [one, now] of moved) expect(now).toBeGreaterThan(before[Number(one)] ?? 0);
    }),
  );
});
