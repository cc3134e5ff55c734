/** Two processes of each service, the brains over one data directory, on real NATS, Redis and PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { request } from 'undici';
import { SERVICE_NAMES } from '../../deploy/services.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { QUIET } from './embedded.ts';
import { ServiceProcess } from './service-process.ts';
import { API_KEY, type ClusterServers, type Environment, type OwnTarget, targetProcesses } from './target.ts';

const TWO_OF_EACH = 2;

/** Settings that one role alone reads: a change of them starts no other process again. */
const READ_BY: readonly (readonly [RegExp, string])[] = [
  [/^SVC_(SYNC_|LEGACY_DIR$)/, 'brain'],
  [/^SVC_DRAIN_WAIT_MS$/, 'gateway'],
];

interface ClusterGround {
  readonly root: string;
  readonly dataDir: string;
  readonly servers: ClusterServers;
}

interface Member {
  readonly process: ServiceProcess;
  settings(given: Environment): Environment;
}

export interface ClusterSize {
  readonly gateways?: number;
  /** Of each service behind the gateways. */
  readonly replicas?: number;
}

/** Null, after one loud line of the server that is missing, when the servers cannot be had. */
export async function startCluster(
  environment: Environment = {},
  { gateways: gatewayCount = TWO_OF_EACH, replicas: replicaCount = TWO_OF_EACH }: ClusterSize = {},
): Promise<OwnTarget | null> {
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()]);
  const stopServers = () => Promise.all([nats, redis, postgres].map(async (server) => server?.stop()));
  if (nats === null || redis === null || postgres === null) {
    await stopServers();
    return null;
  }
  const root = mkdtempSync(join(tmpdir(), 'svc-e2e-cluster-'));
  const servers = { nats: nats.url, redis: redis.url, database: postgres.url };
  const ground: ClusterGround = { root, dataDir: join(root, 'data'), servers };
  const replicas = (service: string): Promise<Member[]> =>
    Promise.all(
      Array.from({ length: replicaCount }, (_, index) =>
        member(ground, service, `${service}-${index + 1}`, environment),
      ),
    );
  const members = new Map<string, readonly Member[]>();
  for (const service of SERVICE_NAMES) members.set(service, await replicas(service));
  const gateways: Member[] = [];
  for (let index = 1; index <= gatewayCount; index += 1) {
    gateways.push(await member(ground, 'gateway', `gateway-${index}`, { SVC_API_KEY: API_KEY, ...environment }));
  }
  members.set('gateway', gateways);
  const everybody = [...members.values()].flat();
  const stop = async () => {
    await Promise.all(everybody.map(({ process }) => process.dispose()));
    await stopServers();
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const processes = targetProcesses(
    new Map([...members].map(([role, running]) => [role, running.map(({ process }) => process)])),
  );
  const urls = gateways.flatMap(({ process }) => process.url ?? []);
  const answers = async () => {
    for (const { process } of gateways) await process.ready();
    for (const url of urls) {
      for (const service of SERVICE_NAMES) await serviceAlive(url, service, replicaCount);
    }
  };
  try {
    for (const { process } of everybody) process.spawn();
    await answers();
  } catch (error) {
    const said = everybody.map(({ process }) => `--- ${process.name}\n${process.tail()}`).join('\n');
    await stop();
    throw new Error(`the cluster did not start:\n${said}`, { cause: error });
  }
  const target: OwnTarget = {
    place: { kind: 'cluster', gateways: urls, key: API_KEY, ...ground },
    ...processes,
    servers: { nats, redis, postgres },
    async revive(given) {
      for (const { control } of [nats, redis, postgres]) await control?.resume();
      await Promise.all(everybody.map(({ process, settings }) => process.revive(settings(given))));
      await answers();
      return target;
    },
    stop,
  };
  return target;
}

async function member(ground: ClusterGround, role: string, name: string, environment: Environment): Promise<Member> {
  const { root, dataDir, servers } = ground;
  const port = String(await freePort());
  const own: Environment = { ...sharedServers(servers), SVC_NODE_ID: name, SVC_DATA_DIR: dataDir };
  const settings = (given: Environment): Environment => {
    const concerns = (variable: string) =>
      READ_BY.every(([pattern, reader]) => reader === role || !pattern.test(variable));
    const read = Object.fromEntries(Object.entries(given).filter(([variable]) => concerns(variable)));
    if (role !== 'gateway') return { ...withoutKey(read), ...own, SVC_MCP_PORT: '0', SVC_HEALTH_PORT: port };
    // Some scenarios want one without a key; it is nothing to one that has a key.
    return { ...QUIET, SVC_KEYLESS: '1', ...read, ...own, SVC_MCP_PORT: port };
  };
  const url = `http://127.0.0.1:${port}`;
  const process = new ServiceProcess({
    name,
    command: ['deploy/node.ts', role],
    environment: settings(environment),
    root,
    url: role === 'gateway' ? url : null,
    health: url,
  });
  return { process, settings: (given) => settings(role === 'gateway' ? { SVC_API_KEY: API_KEY, ...given } : given) };
}

/** A gateway that joins the services on these servers. */
export async function gatewayProcess(
  ground: ClusterGround,
  name: string,
  environment: Environment,
): Promise<ServiceProcess> {
  return (await member(ground, 'gateway', name, environment)).process;
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
