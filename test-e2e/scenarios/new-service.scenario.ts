/** A new service is its own files and an entry in the list of services: the smallest one, started as all others are. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { expect, onTestFinished } from 'vitest';
import { Caller } from '../client.ts';
import { EventSocket } from '../instruments/event-socket.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { QUIET } from '../targets/embedded.ts';
import { ServiceProcess } from '../targets/service-process.ts';
import { API_KEY, type Environment, type TargetKind } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const ENTRY = 'test-e2e/targets/eighth.main.ts';
const EIGHTH = join(import.meta.dirname, '..', '..', 'shared', 'testing', 'src', 'eighth');
const MOST_LINES = 120;
/** On a busy machine, with a database to be made first. */
const READY_WITHIN_MS = 150_000;

/** The gateway comes last. */
async function startProcesses(kind: TargetKind): Promise<ServiceProcess[]> {
  const root = mkdtempSync(join(tmpdir(), 'svc-e2e-eighth-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const common: Environment = { ...QUIET, SVC_API_KEY: API_KEY, SVC_DATA_DIR: join(root, 'data') };
  const door = { url, environment: { ...common, SVC_MCP_PORT: String(port) } };
  if (kind === 'embedded') {
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    return [new ServiceProcess({ name: 'node', command: [ENTRY], root, ...door })];
  }
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()]);
  onTestFinished(async () => {
    await Promise.all([nats, redis, postgres].map(async (server) => server?.stop()));
    rmSync(root, { recursive: true, force: true });
  });
  const addresses = [nats, redis, postgres].map((server) => server?.url ?? '');
  const servers = Object.fromEntries(
    ['NATS_URL', 'REDIS_URL', 'DATABASE_URL'].map((name, at) => [name, addresses[at]]),
  );
  const environment = { ...common, ...servers, SVC_MCP_PORT: '0' } as Environment;
  return [
    ...['habitat', 'eighth', 'neighbour'].map(
      (name) => new ServiceProcess({ name, command: [ENTRY, name], environment, root, url: null }),
    ),
    new ServiceProcess({
      name: 'gateway',
      command: [ENTRY, 'gateway'],
      root,
      url,
      environment: { ...environment, ...door.environment },
    }),
  ];
}

verifies('operation:new-service', async ({ place }) => {
  const processes = await startProcesses(place.kind);
  onTestFinished(async () => {
    await Promise.all(processes.map((process) => process.dispose()));
  });
  for (const process of processes) process.spawn();
  const gateway = processes.at(-1);
  const url = gateway?.url ?? '';
  await gateway?.ready(READY_WITHIN_MS);
  const user = new Caller({ gateways: [url], key: API_KEY });
  const socket = await EventSocket.connect(url, { auth: { apiKey: API_KEY } });
  onTestFinished(() => socket.close());

  const add = (key: string) => user.ok('note_add', { text: 'hello' }, { headers: { 'idempotency-key': key } });
  const { noteId } = await add('first');
  expect((await add('first'))['noteId']).toBe(noteId);
  await add('second');
  await waitFor(() => socket.heard.some((event) => event.name === 'note:added' && event['noteId'] === noteId), {
    what: 'the event of the new service',
  });
  expect(await user.ok('notes_count')).toMatchObject({ notes: 2 });
  await waitFor(async () => (await user.ok('notes_count'))['counted'] === 2, { what: 'the job of the new service' });
  for (const process of processes.toReversed()) expect(await process.stop(), process.tail()).toBe(0);
});

verifies(
  'operation:new-service',
  async () => {
    const files = readdirSync(EIGHTH, { recursive: true, encoding: 'utf8' }).filter(
      (path) => statSync(join(EIGHTH, path)).isFile() && path !== 'neighbour.ts',
    );
    const lines = files.map((path) => readFileSync(join(EIGHTH, path), 'utf8').split('\n').length - 1);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(MOST_LINES);
  },
  { title: `The smallest one has at most ${MOST_LINES} lines.` },
);
