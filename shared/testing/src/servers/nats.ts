/** A private NATS server for tests. */
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
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
import { firstThatStarts } from './sources.ts';

interface NatsOptions {
  /** Largest message in bytes; 8 MiB unless told. */
  readonly maxPayload?: number;
  /** Further lines of the server's configuration, such as users and permissions. */
  readonly config?: string;
}

interface NatsServer extends TestServer {
  /** Other lines of configuration instead of those given, read while it runs. Absent when its process is not ours. */
  reload?(config: string): Promise<void>;
}

const DEFAULT_MAX_PAYLOAD = 8 * 1024 * 1024;

/**
 * A server that notices lost clients within seconds. Null, after one loud line, when no NATS server can be had.
 * A server given in SVC_TEST_NATS_URL may serve others too: tests use subjects that nobody else has, and with options
 * of their own they get a private server.
 */
export async function startNats(options: NatsOptions = {}): Promise<NatsServer | null> {
  const given = process.env['SVC_TEST_NATS_URL'];
  const plain = options.maxPayload === undefined && options.config === undefined;
  if (given !== undefined && given !== '' && plain) {
    const { hostname, port } = new URL(given);
    await greets(hostname, Number(port) || 4222);
    return { url: given, async stop() {} };
  }
  return firstThatStarts<NatsServer>('NATS server', [() => containerNats(options), () => localNats(options)]);
}

function containerNats(options: NatsOptions): Promise<TestServer | null> {
  return startContainer({
    image: 'nats:2-alpine',
    port: 4222,
    command: ['-c', '/test.conf'],
    files: [{ content: configuration(options, '0.0.0.0', 4222), target: '/test.conf' }],
    urlAt: (port) => `nats://127.0.0.1:${port}`,
    probe: (url) => greets('127.0.0.1', Number(new URL(url).port)),
  });
}

async function localNats(options: NatsOptions): Promise<NatsServer | null> {
  if (findExecutable('nats-server') === null) installServers();
  const command = findExecutable('nats-server');
  if (command === null) return null;
  const folder = temporaryFolder('nats');
  const port = await freePort();
  const file = join(folder, 'nats.conf');
  writeFileSync(file, configuration(options, '127.0.0.1', port));
  const pidFile = join(folder, 'nats.pid');
  const { control, stop } = await startProcess({
    name: 'nats-server',
    command,
    args: ['-c', file, '-P', pidFile],
    probe: () => greets('127.0.0.1', port),
  });
  return {
    url: `nats://127.0.0.1:${port}`,
    control,
    async reload(config) {
      writeFileSync(file, configuration({ ...options, config }, '127.0.0.1', port));
      process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGHUP');
    },
    async stop() {
      await stop();
      removeFolder(folder);
    },
  };
}

function configuration(
  { maxPayload = DEFAULT_MAX_PAYLOAD, config = '' }: NatsOptions,
  host: string,
  port: number,
): string {
  return [
    `listen: "${host}:${port}"`,
    `max_payload: ${maxPayload}`,
    'ping_interval: "5s"',
    'ping_max: 2',
    'write_deadline: "2s"',
    config,
  ].join('\n');
}

/** Throws unless a NATS server says hello there. */
function greets(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({ host, port, timeout: 2000 });
    const fail = () => {
      socket.destroy();
      reject(new Error(`no NATS server at ${host}:${port}`));
    };
    socket.once('error', fail);
    socket.once('timeout', fail);
    socket.once('data', (chunk) => {
      socket.destroy();
      if (chunk.toString().startsWith('INFO ')) resolve();
      else reject(new Error(`${host}:${port} is not a NATS server`));
    });
  });
}
