/** A private PostgreSQL for tests. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startContainer } from './containers.ts';
import { freePort } from './ports.ts';
import {
  findExecutable,
  installServers,
  removeFolder,
  type ServerProcess,
  startProcess,
  systemUser,
  temporaryFolder,
  type TestServer,
} from './processes.ts';
import { firstThatStarts, ourOwn } from './sources.ts';

const WHAT = 'PostgreSQL server';
const GIVEN = 'SVC_TEST_DATABASE_URL';
const DURABLE = ['-cfsync=on'];
/** Of a server that loses what it holds when the machine does. */
export const SWIFT: readonly string[] = [
  '-cfsync=off',
  '-csynchronous_commit=off',
  '-cfull_page_writes=off',
  '-cautovacuum=off',
];
const USER = 'svc';
const DATABASE = 'svc';
/** As most databases have it, unlike the embedded one: whoever takes that order for the order of bytes is found out. */
const SORTED_AS_WORDS = ['--locale-provider=icu', '--icu-locale=en-US'];

/** An empty database of its own. Null, after one loud line, when no PostgreSQL can be had. */
export async function startPostgres(settings: readonly string[] = DURABLE): Promise<TestServer | null> {
  const given = givenUrl();
  return given === null ? firstThatStarts(WHAT, sourcesWith(settings)) : databaseAt(given);
}

/** The same on a server of our own, which may be broken. */
export function startOwnPostgres(): Promise<TestServer | null> {
  return ourOwn(WHAT, GIVEN, sourcesWith(DURABLE));
}

/** `settings` are those of a local one. */
function sourcesWith(settings: readonly string[]) {
  return [containerPostgres, () => localPostgres(settings)];
}

/** A fresh database on a server that runs already; everything else there stays as it is. */
export function databaseAt(serverUrl: string): Promise<TestServer> {
  return makeDatabase(serverUrl, 'svc_test', 'template1');
}

/** The same with all that is in the one at `url`, which nobody may use meanwhile; `dropCopies` finds it by its name. */
export function copyOf({ url }: Pick<TestServer, 'url'>, serverUrl: string): Promise<TestServer> {
  return makeDatabase(serverUrl, nameIn(url), nameIn(url));
}

/** Also those that nobody gave back. */
export async function dropCopies({ url }: Pick<TestServer, 'url'>, serverUrl: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)',
      [`${nameIn(url)}_`],
    );
    for (const { name } of rows) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1);
}

async function makeDatabase(serverUrl: string, family: string, template: string): Promise<TestServer> {
  const database = `${family}_${randomBytes(6).toString('hex')}`;
  await withClient(serverUrl, async (client) => {
    const { rows } = await client.query<{ version: string }>('SELECT version()');
    if (!/^PostgreSQL \d/.test(rows[0]?.version ?? '')) throw new Error(`${GIVEN} is no PostgreSQL`);
    await client.query(`CREATE DATABASE ${database} TEMPLATE ${template}`);
  });
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return {
    url: url.href,
    stop: () =>
      withClient(serverUrl, async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      }),
  };
}

function givenUrl(): string | null {
  return process.env[GIVEN] || null;
}

function containerPostgres(): Promise<TestServer | null> {
  return startContainer({
    image: 'postgres:17-alpine',
    port: 5432,
    environment: {
      POSTGRES_USER: USER,
      POSTGRES_DB: DATABASE,
      POSTGRES_HOST_AUTH_METHOD: 'trust',
      POSTGRES_INITDB_ARGS: SORTED_AS_WORDS.join(' '),
    },
    urlAt: (port) => urlAt(port, DATABASE),
    probe: (url) => withClient(url, async () => {}),
  });
}

async function localPostgres(settings: readonly string[]): Promise<TestServer | null> {
  let bin = findBinaries();
  if (bin === null) {
    installServers();
    bin = findBinaries();
  }
  if (bin === null) return null;
  const user = process.getuid?.() === 0 ? (systemUser('postgres') ?? systemUser('nobody')) : undefined;
  if (user === null) throw new Error('it refuses root and there is no other user');
  const folder = temporaryFolder('postgres', user === undefined ? {} : { owner: user });
  const data = join(folder, 'data');
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', ...SORTED_AS_WORDS, '--no-sync'],
    { ...user, cwd: folder, stdio: 'pipe' },
  );
  const port = await freePort();
  const server: ServerProcess = {
    name: 'postgres',
    command: join(bin, 'postgres'),
    args: [
      `-D${data}`,
      `-p${port}`,
      '-clisten_addresses=127.0.0.1',
      '-cunix_socket_directories=',
      '-cmax_connections=300',
      '-cshared_buffers=64MB',
      ...settings,
    ],
    ...(user === undefined ? {} : { user }),
    // Fast shutdown: ends sessions instead of waiting for them.
    stopSignal: 'SIGINT',
    probe: () => withClient(urlAt(port, 'postgres'), async () => {}),
  };
  const { control, stop } = await startProcess(server);
  await withClient(urlAt(port, 'postgres'), async (client) => {
    await client.query(`CREATE DATABASE ${DATABASE}`);
  });
  return {
    url: urlAt(port, DATABASE),
    control,
    async stop() {
      await stop();
      removeFolder(folder);
    },
  };
}

/** Debian keeps the server's programs out of PATH, one folder per version. */
function findBinaries(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = readFolder(root).sort((one, other) => Number(other) - Number(one));
  const path = findExecutable(
    'initdb',
    versions.map((version) => join(root, version, 'bin')),
  );
  return path === null ? null : join(path, '..');
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function urlAt(port: number, database: string): string {
  return `postgresql://${USER}@127.0.0.1:${port}/${database}`;
}

async function withClient(url: string, use: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}
