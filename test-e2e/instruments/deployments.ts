/** Deployments that meet on a NATS: each a process with everything in it, or a cluster. */
import { startNats } from '@svc/testing/servers/nats.ts';
import type { TestServer } from '@svc/testing/servers/processes.ts';
import { onTestFinished } from 'vitest';
import { Caller } from '../client.ts';
import { type ClusterShape, startCluster } from '../targets/cluster.ts';
import { startEmbedded } from '../targets/embedded.ts';
import type { Environment, OwnTarget } from '../targets/target.ts';
import { waitFor } from './wait-for.ts';

/** A server that nobody else meets on. */
export async function busOfOwn(): Promise<TestServer> {
  const nats = await startNats({ config: 'max_connections: 100' });
  if (nats === null) throw new Error('there is no NATS server');
  onTestFinished(() => nats.stop());
  return nats;
}

export interface Deployment {
  readonly target: OwnTarget;
  readonly caller: Caller;
  readonly environment: Environment;
}

export async function deployment(environment: Environment): Promise<Deployment> {
  const target = await startEmbedded(environment);
  onTestFinished(() => target.stop());
  return { target, caller: new Caller(target.place), environment };
}

/** As few processes as make a cluster: a gateway, and one for what is behind it besides those `apart`. */
export async function clusterDeployment(
  environment: Environment,
  { apart = [], ...shape }: ClusterShape = {},
): Promise<Deployment> {
  const target = await startCluster(environment, { gateways: 1, replicas: 1, apart, ...shape });
  if (target === null) throw new Error('a server of the cluster is missing');
  onTestFinished(() => target.stop());
  return { target, caller: new Caller(target.place), environment };
}

export const SECRET = 'correct horse battery staple';

/** `url`: where it meets others, when that is not the NATS of its cluster. */
export function member(name: string, agentId: string, url?: string): Environment {
  return {
    SVC_NODE_NAME: name,
    SVC_NODE_PORT: '3457',
    SVC_NODE_AGENT_ID: agentId,
    SVC_NODE_SECRET: SECRET,
    ...(url === undefined ? {} : { SVC_NODE_BUS_URL: url }),
  };
}

export async function untilHeard(by: Caller, node: string): Promise<void> {
  const isHeard = async () => {
    const { peers } = await by.ok<{ peers: { name: string; online: boolean; agentId: unknown }[] }>('agora_nodes');
    return peers.some(({ name, online, agentId }) => name === node && online && agentId !== null);
  };
  await waitFor(isHeard, { what: `${node} is heard` });
}

export async function hashAt({ caller }: Deployment, topic: string): Promise<unknown> {
  return (await caller.ok('consensus_get', { topic }))['hash'];
}
