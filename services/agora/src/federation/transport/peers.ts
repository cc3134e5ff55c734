/** Whom this node knows: the configured ones, and those that said that they are there. The rows are the truth. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { NodeIdentity } from '../domain/settings.ts';
import { isInConflict, isOnline, unheardPeer } from '../domain/peer.ts';
import { type PeerRow, readPeers, readPrincipals } from '../store/peer-rows.ts';

/** Whoever has the secret could announce any number of names. */
const MAX_ANNOUNCED = 1000;

interface ShownPeer {
  readonly name: string;
  readonly port: number | null;
  readonly agentId: string | null;
  readonly source: 'config' | 'presence';
  readonly online: boolean;
  readonly lastSeenAt: number | null;
  readonly skewMs: number | null;
  readonly conflict: boolean;
}

export type Peers = ReturnType<typeof createPeers>;

export function createPeers({ name, peers: configured }: NodeIdentity, client: SqlClient, now: () => number) {
  let heard: ReadonlyMap<string, PeerRow> = new Map();
  const isConfigured = (node: string): boolean => node !== name && configured.has(node);
  const rowOf = (node: string): PeerRow => heard.get(node) ?? { ...unheardPeer(node), isJoined: false };

  return {
    isPeer: (node: string): boolean => node !== name && (isConfigured(node) || heard.has(node)),
    mayJoin: (node: string): boolean => isConfigured(node) || heard.has(node) || heard.size < MAX_ANNOUNCED,
    isInConflict: (node: string): boolean => isInConflict(rowOf(node), now()),
    isOnline: (node: string): boolean => isOnline(rowOf(node), now()),
    /** What this process knows from now on, until it reads the rows again. */
    heardOf(peer: PeerRow): void {
      heard = new Map(heard).set(peer.node, peer);
    },
    async refresh(): Promise<void> {
      heard = new Map((await readPeers(client, name)).map((peer) => [peer.node, peer]));
    },
    async list(): Promise<ShownPeer[]> {
      const rows = new Map((await readPeers(client, name)).map((peer) => [peer.node, peer]));
      const principals = await readPrincipals(client);
      const names = new Set([...configured.keys(), ...rows.keys()].filter((node) => node !== name));
      return [...names].toSorted().map((node) => {
        const row = rows.get(node) ?? unheardPeer(node);
        return {
          name: node,
          port: row.port,
          agentId: principals.get(node) ?? null,
          source: isConfigured(node) ? 'config' : 'presence',
          online: isOnline(row, now()),
          lastSeenAt: row.seenAt,
          skewMs: row.skewMs,
          conflict: isInConflict(row, now()),
        };
      });
    },
  };
}
