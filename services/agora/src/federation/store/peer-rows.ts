/** Rows of other nodes: as they were heard, in whose name they vote, and which of their messages had their effect. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, timestampOf } from '@svc/runtime/sql-time.ts';
import { type HeardPeer, unheardPeer } from '../domain/peer.ts';

export interface PeerRow extends HeardPeer {
  /** What was told last. */
  readonly isJoined: boolean;
}

const PEER = `node, port, agent_id AS "agentId", instance, ${epochMs('seen_at')} AS "seenAt", skew_ms AS "skewMs", rival,
  ${epochMs('rival_seen_at')} AS "rivalSeenAt", is_joined AS "isJoined"`;

export async function readPeers(client: SqlClient, self: string): Promise<PeerRow[]> {
  return client.$queryRawUnsafe<PeerRow[]>(`SELECT ${PEER} FROM agora.node_peer WHERE node <> $1 ORDER BY node`, self);
}

/** As it was heard last, its row locked; of one that was never heard, there is one from now on. */
export async function lockPeer(tx: SqlClient, node: string): Promise<PeerRow> {
  await tx.$executeRawUnsafe('INSERT INTO agora.node_peer (node) VALUES ($1) ON CONFLICT DO NOTHING', node);
  const rows = await tx.$queryRawUnsafe<PeerRow[]>(
    `SELECT ${PEER} FROM agora.node_peer WHERE node = $1 FOR UPDATE`,
    node,
  );
  return rows[0] ?? { ...unheardPeer(node), isJoined: false };
}

export async function writePeer(tx: SqlClient, peer: PeerRow): Promise<void> {
  const { node, port, agentId, instance, seenAt, skewMs, rival, rivalSeenAt, isJoined } = peer;
  await tx.$executeRawUnsafe(
    `UPDATE agora.node_peer SET port = $2, agent_id = $3, instance = $4, seen_at = ${timestampOf('$5')}, skew_ms = $6,
      rival = $7, rival_seen_at = ${timestampOf('$8')}, is_joined = $9 WHERE node = $1`,
    node,
    port,
    agentId,
    instance,
    seenAt,
    skewMs,
    rival,
    rivalSeenAt,
    isJoined,
  );
}

/** Those that joined and were not heard since `before`; from now on they have left. */
export async function takeLeft(tx: SqlClient, before: number): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ node: string }[]>(
    `UPDATE agora.node_peer SET is_joined = false WHERE is_joined AND seen_at < ${timestampOf('$1')} RETURNING node`,
    before,
  );
  return rows.map(({ node }) => node).toSorted();
}

/** The instance that this deployment is, whatever it was given before. */
export async function ownInstance(client: SqlClient, self: string, fresh: string): Promise<string> {
  const rows = await client.$queryRawUnsafe<{ instance: string }[]>(
    `INSERT INTO agora.node_peer (node, instance) VALUES ($1, $2)
      ON CONFLICT (node) DO UPDATE SET instance = coalesce(agora.node_peer.instance, excluded.instance) RETURNING instance`,
    self,
    fresh,
  );
  return rows[0]?.instance ?? fresh;
}

export async function readPrincipals(client: SqlClient): Promise<Map<string, string>> {
  const rows = await client.$queryRawUnsafe<{ node: string; agentId: string }[]>(
    'SELECT node, agent_id AS "agentId" FROM agora.node_principal',
  );
  return new Map(rows.map(({ node, agentId }) => [node, agentId]));
}

/** A node and the agent in whose name it votes. */
export interface Named {
  readonly agentId: string;
  readonly node: string;
}

interface Principal extends Named {
  readonly isConfigured: boolean;
}

export async function principalOf(client: SqlClient, node: string): Promise<Principal | null> {
  const rows = await client.$queryRawUnsafe<Principal[]>(
    'SELECT agent_id AS "agentId", node, is_configured AS "isConfigured" FROM agora.node_principal WHERE node = $1',
    node,
  );
  return rows[0] ?? null;
}

/** False = the agent, or the node, is bound already. */
export async function bindPrincipal(tx: SqlClient, principal: Principal, at: number): Promise<boolean> {
  const { agentId, node, isConfigured } = principal;
  const bound = await tx.$executeRawUnsafe(
    `INSERT INTO agora.node_principal (agent_id, node, is_configured, bound_at) VALUES ($1, $2, $3, ${timestampOf('$4')})
      ON CONFLICT DO NOTHING`,
    agentId,
    node,
    isConfigured,
    at,
  );
  return bound === 1;
}

/** What the operator says takes the place of what was heard. */
export async function configurePrincipal(tx: SqlClient, { agentId, node }: Named, at: number): Promise<void> {
  await tx.$executeRawUnsafe('DELETE FROM agora.node_principal WHERE agent_id = $1 OR node = $2', agentId, node);
  await bindPrincipal(tx, { agentId, node, isConfigured: true }, at);
}

/** What the operator does not say any more is what the node says of itself, or nothing. */
export async function releaseConfigured(tx: SqlClient, still: readonly Named[]): Promise<void> {
  await tx.$executeRawUnsafe(
    `WITH gone AS (
       SELECT p.agent_id, EXISTS (
         SELECT 1 FROM agora.node_peer n WHERE n.node = p.node AND n.agent_id = p.agent_id
       ) AS heard FROM agora.node_principal p
       WHERE p.is_configured AND (p.node, p.agent_id) NOT IN (SELECT * FROM unnest($1::text[], $2::text[]))
     ), released AS (
       DELETE FROM agora.node_principal p USING gone WHERE p.agent_id = gone.agent_id AND NOT gone.heard
     )
     UPDATE agora.node_principal p SET is_configured = false FROM gone WHERE p.agent_id = gone.agent_id AND gone.heard`,
    still.map(({ node }) => node),
    still.map(({ agentId }) => agentId),
  );
}

/** False = it came before. */
export async function spendNonce(tx: SqlClient, sender: string, nonce: string, at: number): Promise<boolean> {
  const spent = await tx.$executeRawUnsafe(
    `INSERT INTO agora.node_nonce (sender, nonce, at) VALUES ($1, $2, ${timestampOf('$3')}) ON CONFLICT DO NOTHING`,
    sender,
    nonce,
    at,
  );
  return spent === 1;
}

export async function forgetNonces(client: SqlClient, before: number): Promise<void> {
  await client.$executeRawUnsafe(`DELETE FROM agora.node_nonce WHERE at < ${timestampOf('$1')}`, before);
}

export async function addCounts(tx: SqlClient, counts: ReadonlyMap<string, number>): Promise<void> {
  // In one order, so that processes that do it at once wait for each other.
  for (const [name, value] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await tx.$executeRawUnsafe(
      `INSERT INTO agora.node_count (name, value) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET value = agora.node_count.value + excluded.value`,
      name,
      value,
    );
  }
}

export async function readCounts(client: SqlClient): Promise<Map<string, number>> {
  const rows = await client.$queryRawUnsafe<{ name: string; value: bigint }[]>(
    'SELECT name, value FROM agora.node_count',
  );
  return new Map(rows.map(({ name, value }) => [name, Number(value)]));
}
