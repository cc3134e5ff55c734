/** Two of each service, the brains over one data directory, on real NATS, Redis and PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { databaseAt, startPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { request } from 'undici';
import { SERVICE_NAMES } from '../../deploy/services.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { QUIET } from './embedded.ts';
import { ServiceProcess } from './service-process.ts';
import { API_KEY, type ClusterServers, type Environment, type OwnTarget, ownTargetOf } from './target.ts';

const TWO_OF_EACH = 2;
/** The heaviest, and the one that most scenarios end. */
export const BRAIN_APART: readonly string[] = ['brain'];
/** Of the processes of all roles that have none for themselves. */
const TOGETHER = 'services';

/** Settings that one role alone reads: a change of them starts no other process again. */
const READ_BY: readonly (readonly [RegExp, string])[] = [
  [/^(SVC_(SYNC_\w+|LEGACY_DIR|HOST_URL)|HOST_\w+)$/, 'brain'],
  [/^SVC_(RATE_LIMIT|RATE_WINDOW_S|PLAN|PLAN_LIMITS|DENIALS_WINDOW_S|DRAIN_WAIT_MS)$/, 'gateway'],
  [/^SVC_(MAX_CONNECTIONS_PER_ADDRESS|TRUST_PROXY|CONFORMANCE)$/, 'gateway'],
  [/^SVC_(BUBBLEWRAP|UNIVERSE_SEED)$/, 'universe'],
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

/** Members that run the same roles. */
interface Group {
  readonly roles: readonly string[];
  readonly members: readonly Member[];
}

export interface ClusterSize {
  readonly gateways?: number;
  /** Of each service behind the gateways. */
  readonly replicas?: number;
}

export interface ClusterShape extends ClusterSize {
  /** Services with processes for themselves, which a scenario may end without ending others; the others share theirs. */
  readonly apart?: readonly string[];
  /** Of another cluster: its NATS, and its PostgreSQL for a database beside the one there. They have to outlive this one. */
  readonly beside?: OwnTarget['servers'];
}

/** Null, after one loud line of the server that is missing, when the servers cannot be had. */
export async function startCluster(
  environment: Environment = {},
  { gateways = TWO_OF_EACH, replicas = TWO_OF_EACH, apart = BRAIN_APART, beside = null }: ClusterShape = {},
): Promise<OwnTarget | null> {
  const [nats, redis, postgres] = await startServers(beside);
  const stopServers = () => Promise.all([nats, redis, postgres].map(async (server) => server?.stop()));
  if (nats === null || redis === null || postgres === null) {
    await stopServers();
    return null;
  }
  const root = mkdtempSync(join(tmpdir(), 'svc-e2e-cluster-'));
  const addresses = { nats: nats.url, redis: redis.url, database: postgres.url };
  const ground: ClusterGround = { root, dataDir: join(root, 'data'), servers: addresses };
  const members = new Members(ground, { gateways, replicas });
  const stop = async () => {
    await members.dispose();
    await stopServers();
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const servers = { nats, redis, postgres };
  let divided = apart;
  const revive = async (given: Environment, alone = divided): Promise<OwnTarget> => {
    divided = alone;
    for (const { control } of Object.values(servers)) await control?.resume();
    const groups = await members.run(alone, given);
    const running = groups.map((group) => ({ ...group, processes: group.members.map(({ process }) => process) }));
    const urls = running.flatMap(({ processes }) => processes.flatMap(({ url }) => url ?? []));
    const whole = async () => {
      await Promise.all(running.flatMap(({ processes }) => processes.map((one) => one.serving())));
      await Promise.all(urls.map((url) => servicesAlive(url, SERVICE_NAMES, replicas)));
    };
    await whole();
    const place = { kind: 'cluster', gateways: urls, key: API_KEY, ...ground } as const;
    return ownTargetOf(running, { place, servers, revive, whole, stop });
  };
  try {
    return await revive(environment);
  } catch (error) {
    const said = members.said();
    await stop();
    throw new Error(`the cluster did not start:\n${said}`, { cause: error });
  }
}

function startServers(beside: OwnTarget['servers']) {
  if (beside === null) return Promise.all([startNats(), startRedis(), startPostgres()]);
  const nats = { ...beside.nats, stop: async () => {} };
  return Promise.all([Promise.resolve(nats), startRedis(), databaseAt(beside.postgres.url)]);
}

/** Whether a cluster could be started; if not, one loud line says what is missing. */
export async function serversThere(): Promise<boolean> {
  const servers = await startServers(null);
  await Promise.all(servers.map(async (server) => server?.stop()));
  return servers.every((server) => server !== null);
}

/** The processes of a cluster, which come and go as it is divided into them. */
class Members {
  readonly #ground: ClusterGround;
  readonly #size: Required<ClusterSize>;
  readonly #groups = new Map<string, Group>();

  constructor(ground: ClusterGround, size: Required<ClusterSize>) {
    this.#ground = ground;
    this.#size = size;
  }

  /** So that nothing else runs, everything with these settings; the gateways come last. */
  async run(apart: readonly string[], environment: Environment): Promise<readonly Group[]> {
    const together = SERVICE_NAMES.filter((name) => !apart.includes(name));
    const division = [...apart.map((name) => [name]), ...(together.length === 0 ? [] : [together]), ['gateway']];
    const wanted: Group[] = [];
    for (const roles of division) wanted.push(await this.#group(roles, environment));
    const idle = [...this.#groups.values()].filter((group) => !wanted.includes(group));
    await Promise.all(idle.flatMap(({ members }) => members.map(({ process }) => process.dispose())));
    const all = wanted.flatMap(({ members }) => members);
    await Promise.all(all.map(({ process, settings }) => process.revive(settings(environment))));
    return wanted;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#all().map(({ process }) => process.dispose()));
  }

  said(): string {
    return this.#all()
      .map(({ process }) => `--- ${process.name}\n${process.tail()}`)
      .join('\n');
  }

  #all(): readonly Member[] {
    return [...this.#groups.values()].flatMap(({ members }) => members);
  }

  async #group(roles: readonly string[], environment: Environment): Promise<Group> {
    const key = roles.join('+');
    const standing = this.#groups.get(key);
    if (standing !== undefined) return standing;
    const [name] = roles.length === 1 ? roles : [TOGETHER];
    const count = name === 'gateway' ? this.#size.gateways : this.#size.replicas;
    const members: Member[] = [];
    for (let index = 1; index <= count; index += 1) {
      members.push(await member(this.#ground, roles, `${name}-${index}`, environment));
    }
    const group = { roles, members };
    this.#groups.set(key, group);
    return group;
  }
}

async function member(
  ground: ClusterGround,
  roles: readonly string[],
  name: string,
  environment: Environment,
): Promise<Member> {
  const { root, dataDir, servers } = ground;
  const isGateway = roles.includes('gateway');
  const port = String(await freePort());
  const own: Environment = { ...sharedServers(servers), SVC_NODE_ID: name, SVC_DATA_DIR: dataDir };
  const settings = (given: Environment): Environment => {
    const concerns = (variable: string) =>
      READ_BY.every(([pattern, reader]) => roles.includes(reader) || !pattern.test(variable));
    const read = Object.fromEntries(Object.entries(given).filter(([variable]) => concerns(variable)));
    if (!isGateway) return { ...withoutKey(read), ...own, SVC_MCP_PORT: '0', SVC_HEALTH_PORT: port };
    // Some scenarios want one without a key; it is nothing to one that has a key.
    return { ...QUIET, SVC_KEYLESS: '1', ...read, ...own, SVC_MCP_PORT: port };
  };
  const url = `http://127.0.0.1:${port}`;
  const process = new ServiceProcess({
    name,
    command: ['deploy/node.ts', ...roles],
    environment: settings(environment),
    root,
    url: isGateway ? url : null,
    health: url,
  });
  return { process, settings: (given) => settings(isGateway ? { SVC_API_KEY: API_KEY, ...given } : given) };
}

/** A gateway that joins the services on these servers. */
export async function gatewayProcess(
  ground: ClusterGround,
  name: string,
  environment: Environment,
): Promise<ServiceProcess> {
  return (await member(ground, ['gateway'], name, environment)).process;
}

function sharedServers({ nats, redis, database }: ClusterServers): Environment {
  const patience = { SVC_START_WAIT_MS: '120000' }; // the machine is busy
  return { NATS_URL: nats, REDIS_URL: redis, DATABASE_URL: database, ...patience };
}

function withoutKey({ SVC_API_KEY: _key, ...rest }: Environment): Environment {
  return rest;
}

/** Resolves when the gateway counts so many live instances of each of the services. */
export async function servicesAlive(url: string, services: readonly string[], count: number): Promise<void> {
  let seen = 'no answer';
  await waitFor(
    async () => {
      const reply = await request(`${url}/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nodes_list' } }),
      });
      const answer = (await reply.body.json()) as {
        result?: { content: { nodes: { service: string; status: string }[] } };
      };
      seen = JSON.stringify(answer);
      const alive = (answer.result?.content.nodes ?? []).filter(({ status }) => status === 'alive');
      return services.every((service) => alive.filter((node) => node.service === service).length >= count);
    },
    {
      everyMs: 100,
      what: () => `${count} of ${services.join(', ')} at ${url}, which said ${seen}`,
      ignoreErrors: () => true,
    },
  );
}
