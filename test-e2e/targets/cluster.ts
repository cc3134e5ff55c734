/** Two processes of each service, the brains over one data directory, on real NATS, Redis and PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { request } from 'undici';
import { waitFor } from '../instruments/wait-for.ts';
import { QUIET } from './embedded.ts';
import { ServiceProcess } from './service-process.ts';
import { API_KEY, type ClusterServers, type Environment, type OwnTarget } from './target.ts';

const GATEWAYS = 2;
/** Of each service behind the gateways. */
const REPLICAS = 2;

interface ClusterGround {
  readonly root: string;
  readonly dataDir: string;
  readonly servers: ClusterServers;
}

/** Null, after one loud line of the server that is missing, when the servers cannot be had. */
export async function startCluster(environment: Environment = {}): Promise<OwnTarget | null> {
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()]);
  const stopServers = () => Promise.all([nats, redis, postgres].map(async (server) => server?.stop()));
  if (nats === null || redis === null || postgres === null) {
    await stopServers();
    return null;
  }
  const root = mkdtempSync(join(tmpdir(), 'svc-e2e-cluster-'));
  const servers = { nats: nats.url, redis: redis.url, database: postgres.url };
  const ground: ClusterGround = { root, dataDir: join(root, 'data'), servers };
  const replicas = (service: string): Promise<ServiceProcess[]> =>
    Promise.all(
      Array.from({ length: REPLICAS }, (_, index) =>
        serviceProcess(ground, service, `${service}-${index + 1}`, environment),
      ),
    );
  const behind = {
    habitats: await replicas('habitat'),
    escrows: await replicas('escrow'),
    brains: await replicas('brain'),
  };
  const services = Object.values(behind).flat();
  const gateways: ServiceProcess[] = [];
  for (let index = 1; index <= GATEWAYS; index += 1) {
    gateways.push(await gatewayProcess(ground, `gateway-${index}`, { SVC_API_KEY: API_KEY, ...environment }));
  }
  const stop = async () => {
    await Promise.all([...gateways, ...services].map((one) => one.dispose()));
    await stopServers();
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const urls = gateways.flatMap(({ url }) => url ?? []);
  const place = { kind: 'cluster' as const, gateways: urls, key: API_KEY, ...ground };
  try {
    for (const one of [...services, ...gateways]) one.spawn();
    await Promise.all(gateways.map((gateway) => gateway.ready()));
    for (const url of urls) {
      for (const service of ['habitat', 'escrow', 'brain']) await serviceAlive(url, service, REPLICAS);
    }
  } catch (error) {
    const said = [...services, ...gateways].map((one) => `--- ${one.name}\n${one.tail()}`).join('\n');
    await stop();
    throw new Error(`the cluster did not start:\n${said}`, { cause: error });
  }
  return { place, gateways, ...behind, servers: { nats, redis, postgres }, stop };
}

/** One process of a service without doors. */
async function serviceProcess(
  { root, dataDir, servers }: ClusterGround,
  service: string,
  name: string,
  environment: Environment,
): Promise<ServiceProcess> {
  const health = await freePort();
  return new ServiceProcess({
    name,
    command: ['deploy/node.ts', service],
    environment: {
      ...sharedServers(servers),
      SVC_NODE_ID: name,
      ...withoutKey(environment),
      SVC_MCP_PORT: '0',
      SVC_HEALTH_PORT: String(health),
      SVC_DATA_DIR: dataDir,
    },
    root,
    url: null,
    health: `http://127.0.0.1:${health}`,
  });
}

/** A gateway that joins the services on these servers. */
export async function gatewayProcess(
  { root, dataDir, servers }: ClusterGround,
  name: string,
  environment: Environment,
): Promise<ServiceProcess> {
  const port = await freePort();
  return new ServiceProcess({
    name,
    command: ['deploy/node.ts', 'gateway'],
    environment: {
      ...QUIET,
      ...sharedServers(servers),
      SVC_KEYLESS: '1', // some scenarios want one without a key; nothing to one that has a key
      SVC_NODE_ID: name,
      ...environment,
      SVC_MCP_PORT: String(port),
      SVC_DATA_DIR: dataDir,
    },
    root,
    url: `http://127.0.0.1:${port}`,
  });
}

function sharedServers({ nats, redis, database }: ClusterServers): Environment {
  const patience = { SVC_START_WAIT_MS: '30000' }; // the machine is busy
  return { NATS_URL: nats, REDIS_URL: redis, DATABASE_URL: database, ...patience };
}

function withoutKey({ SVC_API_KEY: _key, ...rest }: Environment): Environment {
  return rest;
}

/** Resolves when the gateway counts so many live instances of a service. */
export async function serviceAlive(url: string, service: string, count: number, withinMs = 30_000): Promise<void> {
  await waitFor(
    async () => {
      const reply = await request(`${url}/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nodes_list' } }),
      });
      const { result } = (await reply.body.json()) as {
        result?: { content: { nodes: { service: string; status: string }[] } };
      };
      const alive = result?.content.nodes.filter((node) => node.service === service && node.status === 'alive') ?? [];
      return alive.length >= count;
    },
    { withinMs, everyMs: 100, what: `${count} of ${service} at ${url}`, ignoreErrors: () => true },
  );
}
