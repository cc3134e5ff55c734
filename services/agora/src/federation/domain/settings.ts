/** The node as its environment describes it: who it is to other nodes, whom it trusts, and what is missing for that. */
import type { NodePeerSetting } from '@svc/contract/node-settings.ts';
import { ed25519Key, type NodeKeys } from './keys.ts';

/** As `readConfig` hands them over. */
export interface NodeVariables {
  readonly SVC_NODE_NAME?: string | undefined;
  readonly SVC_NODE_PORT?: number | undefined;
  readonly SVC_NODE_SECRET?: string | undefined;
  readonly SVC_NODE_SECRET_PREVIOUS?: string | undefined;
  readonly SVC_NODE_AGENT_ID?: string | undefined;
  readonly SVC_NODE_KEY?: string | undefined;
  readonly SVC_NODE_PEERS?: readonly NodePeerSetting[] | undefined;
}

/** Owner of what is decided while the deployment has no name. */
export const LOCAL = 'local';

export interface NodeIdentity {
  readonly name: string;
  readonly port: number;
  readonly agentId: string;
  readonly keys: NodeKeys;
  /** By name. */
  readonly peers: ReadonlyMap<string, NodePeerSetting>;
}

const NEEDED = ['SVC_NODE_NAME', 'SVC_NODE_PORT', 'SVC_NODE_SECRET', 'SVC_NODE_AGENT_ID'] as const;

/** Which of the needed variables are not set. */
export function missingOf(variables: NodeVariables): readonly string[] {
  return NEEDED.filter((name) => variables[name] === undefined);
}

/** Null while something is missing. */
export function identityOf(variables: NodeVariables): NodeIdentity | null {
  const { SVC_NODE_NAME: name, SVC_NODE_PORT: port, SVC_NODE_SECRET: secret, SVC_NODE_AGENT_ID: agentId } = variables;
  if (name === undefined || port === undefined || secret === undefined || agentId === undefined) return null;
  const { SVC_NODE_SECRET_PREVIOUS: previous, SVC_NODE_KEY: seed, SVC_NODE_PEERS: peers = [] } = variables;
  return {
    name,
    port,
    agentId,
    keys: {
      secret,
      previous: previous ?? null,
      own: seed === undefined ? null : ed25519Key(seed),
    },
    peers: new Map(peers.map((peer) => [peer.name, peer])),
  };
}
