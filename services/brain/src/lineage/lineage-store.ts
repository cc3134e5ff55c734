/** What came of what, by workspace: added to in one unit of work at a time, and followed up and down. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, ServiceStore, Unit } from '@svc/runtime/store.ts';
import { decideRecord, deepened, LINEAGE_LIMITS, type Recording } from './domain/lineage.ts';
import {
  countInGraph,
  descendsFrom,
  type Direction,
  type Edge,
  insertEdges,
  insertNode,
  type KeptNode,
  lockGraph,
  readBelow,
  readEdges,
  readEvents,
  readGraph,
  readNode,
  readNodes,
  readParents,
  readRef,
  readRefs,
  writeDepths,
} from './lineage-rows.ts';

interface NewRecord {
  readonly workspace: string;
  /** Null = one is made. */
  readonly id: string | null;
  readonly event: string;
  /** JSON. */
  readonly data: string;
  /** Ids, or names of events. */
  readonly parents: readonly string[];
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Recorded extends Pick<KeptNode, 'id' | 'event' | 'data' | 'by' | 'at'> {
  readonly parents: readonly string[];
  readonly existed: boolean;
}

export type RecordRefusal = 'E_LINEAGE_PARENT' | 'E_LINEAGE_CYCLE' | 'E_CONFLICT' | 'E_QUOTA';

interface TraceWish {
  readonly workspace: string;
  /** An id, or the name of an event. */
  readonly from: string;
  readonly depth: number;
  readonly direction: Direction;
}

export interface Trace {
  readonly entry: KeptNode;
  /** Nearest first. `distance` in steps from the entry. */
  readonly found: readonly (KeptNode & { readonly distance: number })[];
  readonly edges: readonly Edge[];
  readonly truncated: boolean;
}

/** Of one answer. */
const MAX_TRACED = { nodes: 1000, edges: 10_000, dataBytes: 1024 ** 2 } as const;
export const EVENTS_COUNTED = 1000;

export type LineageStore = ReturnType<typeof createLineageStore>;

export function createLineageStore({ client, change }: Pick<ServiceStore, 'client' | 'change'>, ids: Ids) {
  return {
    record: (call: ChangeCall, wish: NewRecord): Promise<Once<Recorded, RecordRefusal>> =>
      change(call, (unit) => record(unit, { ...wish, id: wish.id ?? ids.next('lin') }), {
        inTurnOf: `lineage of ${wish.workspace}`,
      }),
    /** Null when there is nothing to start from. */
    trace: (wish: TraceWish): Promise<Trace | null> => trace(client, wish),
    async stats(workspace: string) {
      return { ...(await readGraph(client, workspace)), events: await readEvents(client, workspace, EVENTS_COUNTED) };
    },
  };
}

type Wish = NewRecord & { readonly id: string };

async function record({ tx, emit }: Pick<Unit, 'tx' | 'emit'>, wish: Wish): Promise<Decision<Recorded, RecordRefusal>> {
  const { workspace, id, event, by } = wish;
  const { nodes } = await lockGraph(tx, workspace);
  const existing = await readNode(tx, workspace, id);
  const known = existing === null ? [] : await readParents(tx, workspace, id);
  const parents = await readRefs(tx, workspace, wish.parents);
  const decided = decideRecord({ ...wish, parents }, { nodes, existing, knownParents: new Set(known) });
  if (!decided.ok) return decided;
  const { newParents } = decided.value;
  // Only what is there already can have descendants.
  if (existing !== null && newParents.length > 0 && (await descendsFrom(tx, workspace, existing, newParents)))
    return deny('E_LINEAGE_CYCLE');
  const node = existing ?? { ...wish, depth: decided.value.depth };
  const added = await add(tx, workspace, { node, existing, recording: decided.value, isRoot: known.length === 0 });
  if (!added.ok) return added;
  if (existing === null || newParents.length > 0)
    emit({ name: 'lineage:recorded', workspace, payload: { entry: id, event, by } });
  const { data, at } = node;
  return allow({ id, event, data, by: node.by, at, parents: [...known, ...newParents], existed: existing !== null });
}

interface Addition {
  readonly node: Omit<KeptNode, 'edges'>;
  readonly existing: KeptNode | null;
  readonly recording: Recording;
  /** Until now. */
  readonly isRoot: boolean;
}

async function add(
  tx: SqlClient,
  workspace: string,
  { node, existing, recording, isRoot }: Addition,
): Promise<Decision<null, 'E_QUOTA'>> {
  const { newParents, depth } = recording;
  if (existing === null) await insertNode(tx, workspace, node);
  await insertEdges(tx, workspace, node.id, newParents);
  const maxDepth = existing !== null && depth > existing.depth ? await deepen(tx, workspace, node.id, depth) : depth;
  if (maxDepth === null) return deny('E_QUOTA', { edgesMoved: LINEAGE_LIMITS.edgesMoved }, TOO_MUCH_BELOW);
  const wasRoot = existing !== null && isRoot;
  const isRootNow = isRoot && newParents.length === 0;
  await countInGraph(tx, workspace, {
    nodes: existing === null ? 1 : 0,
    edges: newParents.length,
    roots: Number(isRootNow) - Number(wasRoot),
    maxDepth,
  });
  return allow(null);
}

const TOO_MUCH_BELOW = 'More came of it than one call can move deeper.';

/** The node lies deeper now, and so does what descends from it. The greatest depth among them; null when they are too many. */
async function deepen(tx: SqlClient, workspace: string, id: string, depth: number): Promise<number | null> {
  const below = await readBelow(tx, workspace, id, LINEAGE_LIMITS.edgesMoved);
  if (below === null) return null;
  const depths = deepened(id, depth, below);
  await writeDepths(tx, workspace, depths);
  return [...depths.values()].reduce((most, one) => Math.max(most, one), 0);
}

async function trace(client: SqlClient, { workspace, from, depth, direction }: TraceWish): Promise<Trace | null> {
  const entry = await readRef(client, workspace, from);
  if (entry === null) return null;
  const distances = new Map([[entry.id, 0]]);
  const edges: Edge[] = [];
  let truncated = false;
  let frontier = [entry.id];
  for (let distance = 1; frontier.length > 0 && !truncated; distance += 1) {
    const limit = MAX_TRACED.edges - edges.length + 1;
    const step = await readEdges(client, workspace, { ids: frontier, direction, limit });
    const reached = new Set(step.map(([child, parent]) => (direction === 'up' ? parent : child)));
    const fresh = [...reached].filter((id) => !distances.has(id));
    const room = distance > depth ? 0 : MAX_TRACED.nodes + 1 - distances.size;
    truncated = fresh.length > room || step.length === limit;
    frontier = fresh.slice(0, room);
    for (const id of frontier) distances.set(id, distance);
    edges.push(...step);
  }
  const ids = [...distances.keys()].slice(1);
  const nodes = await readNodes(client, workspace, ids, MAX_TRACED.dataBytes);
  const shown = new Set([entry.id, ...nodes.map(({ id }) => id)]);
  return {
    entry,
    found: nodes.map((node) => ({ ...node, distance: distances.get(node.id) ?? 0 })),
    edges: edges.filter(([child, parent]) => shown.has(child) && shown.has(parent)).slice(0, MAX_TRACED.edges),
    truncated: truncated || nodes.length < ids.length,
  };
}
