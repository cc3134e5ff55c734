/** The rows of a workspace's lineage. Whoever adds to it has locked its graph. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { DeepEdge, LineageNode, ParentRef } from './domain/lineage.ts';

interface Graph {
  readonly nodes: number;
  readonly edges: number;
  /** Nodes without parents. */
  readonly roots: number;
  readonly maxDepth: number;
}

export interface KeptNode extends LineageNode {
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const GRAPH =
  'nodes::double precision AS nodes, edges::double precision AS edges, roots::double precision AS roots, max_depth AS "maxDepth"';
const NODE = `n.id, n.event, n.data, n.depth, n.edges, n.by,
  round(extract(epoch from n.at) * 1000)::double precision AS at`;
const EMPTY: Graph = { nodes: 0, edges: 0, roots: 0, maxDepth: 0 };

/** Until the end of the transaction nobody else adds to it. */
export async function lockGraph(tx: SqlClient, workspace: string): Promise<Graph> {
  const [graph] = await tx.$queryRawUnsafe<Graph[]>(
    `INSERT INTO brain.lineage_graphs AS g (workspace) VALUES ($1)
     ON CONFLICT (workspace) DO UPDATE SET nodes = g.nodes RETURNING ${GRAPH}`,
    workspace,
  );
  return graph ?? EMPTY;
}

export async function readGraph(client: SqlClient, workspace: string): Promise<Graph> {
  const sql = `SELECT ${GRAPH} FROM brain.lineage_graphs WHERE workspace = $1`;
  return (await client.$queryRawUnsafe<Graph[]>(sql, workspace))[0] ?? EMPTY;
}

export async function readNode(client: SqlClient, workspace: string, id: string): Promise<KeptNode | null> {
  const sql = `SELECT ${NODE} FROM brain.lineage_nodes n WHERE n.workspace = $1 AND n.id = $2`;
  return (await client.$queryRawUnsafe<KeptNode[]>(sql, workspace, id))[0] ?? null;
}

/** The newest of that name. */
export async function readNewest(client: SqlClient, workspace: string, event: string): Promise<KeptNode | null> {
  const sql = `SELECT ${NODE} FROM brain.lineage_nodes n WHERE n.workspace = $1 AND n.event = $2 ORDER BY n.seq DESC LIMIT 1`;
  return (await client.$queryRawUnsafe<KeptNode[]>(sql, workspace, event))[0] ?? null;
}

/** An id means its node; what is no id, the newest event of that name. */
export async function readRef(client: SqlClient, workspace: string, text: string): Promise<KeptNode | null> {
  return (await readNode(client, workspace, text)) ?? (await readNewest(client, workspace, text));
}

export async function readRefs(tx: SqlClient, workspace: string, texts: readonly string[]): Promise<ParentRef[]> {
  const refs: ParentRef[] = [];
  for (const text of texts) refs.push({ text, node: await readRef(tx, workspace, text) });
  return refs;
}

export async function readParents(client: SqlClient, workspace: string, id: string): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ parent: string }[]>(
    'SELECT parent FROM brain.lineage_edges WHERE workspace = $1 AND child = $2 ORDER BY parent',
    workspace,
    id,
  );
  return rows.map(({ parent }) => parent);
}

/**
 * Edges of one node at a time, each time by the index: a database that has no statistics yet, and the embedded one never
 * has, would read all edges of the workspace at each step of a walk.
 */
const edgesByIndex = (column: 'child' | 'parent', where: string): string =>
  `LATERAL (SELECT ${column} FROM brain.lineage_edges WHERE workspace = $1 AND ${where} OFFSET 0)`;

/**
 * Whether one of `parents` descends from the node, or is it. A descendant is always deeper, so only what is deeper than
 * the node is looked at.
 */
export async function descendsFrom(
  tx: SqlClient,
  workspace: string,
  { id, depth }: Pick<LineageNode, 'id' | 'depth'>,
  parents: readonly string[],
): Promise<boolean> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `WITH RECURSIVE up(id) AS (
       SELECT n.id FROM brain.lineage_nodes n WHERE n.workspace = $1 AND n.id = ANY($3::text[]) AND n.depth >= $4
       UNION
       SELECT e.parent FROM up CROSS JOIN ${edgesByIndex('parent', 'child = up.id')} e
       CROSS JOIN LATERAL (
         SELECT FROM brain.lineage_nodes n WHERE n.workspace = $1 AND n.id = e.parent AND n.depth >= $4 OFFSET 0) n
     ) SELECT 1 FROM up WHERE id = $2 LIMIT 1`,
    workspace,
    id,
    parents,
    depth,
  );
  return rows.length > 0;
}

export async function insertNode(
  tx: SqlClient,
  workspace: string,
  { id, event, data, depth, by, at }: Omit<KeptNode, 'edges'>,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.lineage_nodes (workspace, id, event, data, depth, by, at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::double precision / 1000))`,
    workspace,
    id,
    event,
    data,
    depth,
    by,
    at,
  );
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.lineage_events AS e (workspace, event, nodes) VALUES ($1, $2, 1)
     ON CONFLICT (workspace, event) DO UPDATE SET nodes = e.nodes + 1`,
    workspace,
    event,
  );
}

export async function insertEdges(
  tx: SqlClient,
  workspace: string,
  child: string,
  parents: readonly string[],
): Promise<void> {
  if (parents.length === 0) return;
  await tx.$executeRawUnsafe(
    'INSERT INTO brain.lineage_edges (workspace, child, parent) SELECT $1, $2, unnest($3::text[])',
    workspace,
    child,
    parents,
  );
  await tx.$executeRawUnsafe(
    `UPDATE brain.lineage_nodes SET edges = edges + CASE WHEN id = $2 THEN $4::int ELSE 1 END
     WHERE workspace = $1 AND (id = $2 OR id = ANY($3::text[]))`,
    workspace,
    child,
    parents,
    parents.length,
  );
}

/** All edges below the node, each with how deep its child lies; null when there are more than `limit`. */
export async function readBelow(
  tx: SqlClient,
  workspace: string,
  id: string,
  limit: number,
): Promise<DeepEdge[] | null> {
  const rows = await tx.$queryRawUnsafe<DeepEdge[]>(
    `WITH RECURSIVE below(id) AS (
       SELECT $2::text
       UNION
       SELECT e.child FROM below b CROSS JOIN ${edgesByIndex('child', 'parent = b.id')} e
     ) SELECT b.id AS parent, e.child, c.depth FROM below b CROSS JOIN ${edgesByIndex('child', 'parent = b.id')} e
     CROSS JOIN LATERAL (
       SELECT depth FROM brain.lineage_nodes WHERE workspace = $1 AND id = e.child OFFSET 0) c LIMIT $3::int + 1`,
    workspace,
    id,
    limit,
  );
  return rows.length > limit ? null : rows;
}

export async function writeDepths(
  tx: SqlClient,
  workspace: string,
  depths: ReadonlyMap<string, number>,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE brain.lineage_nodes n SET depth = d.depth FROM unnest($2::text[], $3::int[]) AS d(id, depth)
     WHERE n.workspace = $1 AND n.id = d.id`,
    workspace,
    [...depths.keys()],
    [...depths.values()],
  );
}

export async function countInGraph(tx: SqlClient, workspace: string, added: Graph): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE brain.lineage_graphs SET nodes = nodes + $2::bigint, edges = edges + $3::bigint, roots = roots + $4::bigint,
       max_depth = greatest(max_depth, $5::int) WHERE workspace = $1`,
    workspace,
    added.nodes,
    added.edges,
    added.roots,
    added.maxDepth,
  );
}

/** The most frequent names. */
export async function readEvents(client: SqlClient, workspace: string, limit: number): Promise<Map<string, number>> {
  const rows = await client.$queryRawUnsafe<{ event: string; nodes: number }[]>(
    `SELECT event, nodes::int AS nodes FROM brain.lineage_events WHERE workspace = $1
     ORDER BY nodes DESC, event LIMIT $2`,
    workspace,
    limit,
  );
  return new Map(rows.map(({ event, nodes }) => [event, nodes]));
}

export type Direction = 'up' | 'down';
export type Edge = readonly [child: string, parent: string];

/** From these nodes to their parents, or to their children. */
export async function readEdges(
  client: SqlClient,
  workspace: string,
  { ids, direction, limit }: { ids: readonly string[]; direction: Direction; limit: number },
): Promise<Edge[]> {
  const [from, to] = direction === 'up' ? ['child', 'parent'] : ['parent', 'child'];
  const rows = await client.$queryRawUnsafe<{ child: string; parent: string }[]>(
    `SELECT child, parent FROM brain.lineage_edges WHERE workspace = $1 AND ${from} = ANY($2::text[])
     ORDER BY ${from}, ${to} LIMIT $3`,
    workspace,
    ids,
    limit,
  );
  return rows.map(({ child, parent }) => [child, parent]);
}

/** In the order of their ids here, as many as have no more data together. */
export async function readNodes(
  client: SqlClient,
  workspace: string,
  ids: readonly string[],
  dataBytes: number,
): Promise<KeptNode[]> {
  return client.$queryRawUnsafe<KeptNode[]>(
    `SELECT ${NODE} FROM (
       SELECT n.*, w.place, sum(octet_length(n.data)) OVER (ORDER BY w.place) AS bytes
       FROM unnest($2::text[]) WITH ORDINALITY w(id, place)
       JOIN brain.lineage_nodes n ON n.workspace = $1 AND n.id = w.id) n
     WHERE n.bytes <= $3 ORDER BY n.place`,
    workspace,
    ids,
    dataBytes,
  );
}
