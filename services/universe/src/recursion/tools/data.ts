/** recursion_lookup, recursion_traverse: work over data that the caller passes. */
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { type Reference, rootOf } from '../domain/graph.ts';
import { allowanceUntil, MAX_DEPTH, MAX_RESULT_BYTES, MAX_TIME_MS } from '../domain/limits.ts';
import { lookup, LOOKUPS } from '../domain/lookup.ts';
import { traverse, TRAVERSALS } from '../domain/traverse.ts';

const Data = z
  .unknown()
  .refine((data) => data !== undefined, { message: 'is missing' })
  .describe(
    'An object with children (a list) or next (an object), or a graph {start, nodes: {id: {children: [ids] or next: id, value}}}.',
  );
const Operation = z.string().max(100);

/** Throws VAF_INPUT_INVALID. */
function rootIn(data: unknown, path: 'start' | 'root'): Reference {
  const root = rootOf(data);
  if (root !== null) return root;
  throw invalidArguments([{ path, message: 'must be an object, or a graph with start and nodes' }]);
}

function oneOf<const Name extends string>(names: readonly Name[], name: string): Name | null {
  return names.find((one) => one === name) ?? null;
}

const lookupTool = defineTool({
  name: 'recursion_lookup',
  area: 'recursion',
  description: 'Follows a chain of nodes to the first one with a value (resolve), or to its end (last).',
  input: z.strictObject({ operation: Operation.default('resolve'), start: Data }),
  output: z.strictObject({
    found: z.boolean(),
    item: z.unknown().describe('The node, without what it leads to.'),
    value: z.unknown(),
    path: z.array(z.string()),
    depth: z.int(),
    reason: z.enum(['value', 'end', 'cycle', 'missing', 'depth']),
    truncated: z.literal(true).optional().describe('The node is larger than 1 MiB and not shown.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_RECURSION_OPERATION'],
  example: { start: { id: 'a', next: { id: 'b', value: 1 } } },
  async handler({ operation, start }, { refuse }) {
    const known = oneOf(LOOKUPS, operation);
    if (known === null) throw refuse('E_RECURSION_OPERATION', { operations: LOOKUPS });
    const { path, ...found } = lookup(known, rootIn(start, 'start'));
    const isShown = Buffer.byteLength(JSON.stringify([found, path])) <= MAX_RESULT_BYTES;
    const shown = isShown ? found : { ...found, item: null, value: null, truncated: true as const };
    return { ...shown, path: isShown ? [...path] : [] };
  },
});

const traverseTool = defineTool({
  name: 'recursion_traverse',
  area: 'recursion',
  description: 'Visits each node of some data once, and says which ways lead round in a circle.',
  input: z.strictObject({
    operation: Operation.default('ids').describe(`One of ${TRAVERSALS.join(', ')}.`),
    root: Data,
    order: z.enum(['depth', 'breadth']).default('depth'),
    maxDepth: z.int().min(0).max(MAX_DEPTH).default(MAX_DEPTH),
  }),
  output: z.strictObject({
    visited: z.int(),
    result: z.unknown(),
    depth: z.int(),
    cycles: z.array(z.array(z.string())),
    missing: z.array(z.string()).describe('Ids that nodes lead to and that there are not.'),
    truncated: z.boolean(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_RECURSION_OPERATION'],
  example: { operation: 'count', root: { start: 'a', nodes: { a: { children: ['b'] }, b: { value: 1 } } } },
  async handler({ operation, root, order, maxDepth }, { caller, refuse }) {
    const known = oneOf(TRAVERSALS, operation);
    if (known === null) throw refuse('E_RECURSION_OPERATION', { operations: TRAVERSALS });
    const walked = traverse(known, rootIn(root, 'root'), { order, maxDepth }, allowanceOf(caller));
    return { ...walked, cycles: walked.cycles.map((cycle) => [...cycle]), missing: [...walked.missing] };
  },
});

function allowanceOf({ deadlineAt }: Caller) {
  return allowanceUntil(Date.now, Math.min(deadlineAt, Date.now() + MAX_TIME_MS));
}

export const dataTools = [lookupTool, traverseTool];
