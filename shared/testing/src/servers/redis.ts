/** A private Redis for tests: `noeviction`, append-only file. */
import { Redis } from 'ioredis';
import { startContainer } from './containers.ts';
import { freePort } from './ports.ts';
import {
  findExecutable,
  installServers,
  removeFolder,
  startProcess,
  temporaryFolder,
  type TestServer,
} from './processes.ts';
import { firstThatStarts, ourOwn } from './sources.ts';

const WHAT = 'Redis server';
const GIVEN = 'SVC_TEST_REDIS_URL';
const SOURCES = [containerRedis, localRedis];
const SETTINGS = ['--maxmemory-policy', 'noeviction', '--appendonly', 'yes', '--save', ''];
/** Databases of a Redis server as it comes. */
const DATABASES = 16;

/** An empty Redis. Null, after one loud line, when none can be had. */
export async function startRedis(): Promise<TestServer | null> {
  const given = process.env[GIVEN];
  if (given !== undefined && given !== '') return databaseAt(given);
  return firstThatStarts(WHAT, SOURCES);
}

/** The same, of our own: it may be broken. */
export function startOwnRedis(): Promise<TestServer | null> {
  return ourOwn(WHAT, GIVEN, SOURCES);
}

/** An empty numbered database of a server we were given; refuses when all of them hold something. */
async function databaseAt(serverUrl: string): Promise<TestServer> {
  for (let index = 1; index < DATABASES; index += 1) {
    const url = new URL(serverUrl);
    url.pathname = `/${index}`;
    const mine = await withClient(url.href, async (client) => {
      if (!(await client.info('server')).includes('redis_version:')) throw new Error(`${GIVEN} is no Redis`);
      return (await client.dbsize()) === 0 && (await client.set('svc-test:owner', process.pid, 'NX')) === 'OK';
    });
    if (mine) {
      return {
        url: url.href,
        stop: () =>
          withClient(url.href, async (client) => {
            await client.flushdb();
          }),
      };
    }
  }
  throw new Error(`every database of ${GIVEN} holds something; none is used`);
}

function containerRedis(): Promise<TestServer | null> {
  return startContainer({
    image: 'redis:7-alpine',
    port: 6379,
    command: ['redis-server', ...SETTINGS],
    urlAt: (port) => `redis://127.0.0.1:${port}`,
    probe: ping,
  });
}

async function localRedis(): Promise<TestServer | null> {
  if (findExecutable('redis-server') === null) installServers();
  const command = findExecutable('redis-server');
  if (command === null) return null;
  const folder = temporaryFolder('redis');
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const { control, stop } = await startProcess({
    name: 'redis-server',
    command,
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...SETTINGS],
    probe: () => ping(url),
  });
  return {
    url,
    control,
    async stop() {
      await stop();
      removeFolder(folder);
    },
  };
}

function ping(url: string): Promise<void> {
  return withClient(url, async (client) => {
    await client.ping();
  });
}

async function withClient<Result>(url: string, use: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}
