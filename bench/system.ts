/** The system under measurement, started as its users start it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE_NAMES } from '../deploy/services.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import type { TestServer } from '@svc/testing/servers/processes.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { callTool } from './call.ts';
import { type Environment, type NodeProcess, startNode } from './process.ts';

/** With a key, and with limits that count but never refuse. */
export const API_KEY = 'bench-operator-key-0123456789abcdef';
export const AUTHORISED = { 'x-api-key': API_KEY };

const SETTINGS: Environment = {
  SVC_API_KEY: API_KEY,
  SVC_BIND: '127.0.0.1',
  SVC_PLAN_LIMITS: 'enterprise=100000000',
  SVC_LOG_LEVEL: 'warn',
  SVC_DRAIN_WAIT_MS: '0',
};
const PROBE_EVERY_MS = 5;

export interface System {
  /** Base URLs of the gateways. */
  readonly urls: readonly string[];
  /** The processes that hold brains. */
  readonly brains: readonly NodeProcess[];
  /** Gateways and brains. */
  readonly processes: readonly NodeProcess[];
  /** From the spawn to the first 200 of /health and of /ready. */
  readonly healthyAfterMs: number;
  readonly readyAfterMs: number;
  stop(): Promise<void>;
}

export interface Servers {
  readonly nats: TestServer;
  readonly redis: TestServer;
  readonly postgres: TestServer;
  stop(): Promise<void>;
}

/** Null, after one loud line, when one of them cannot be had. */
export async function startServers(): Promise<Servers | null> {
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()]);
  const stop = async (): Promise<void> => {
    await Promise.all([nats?.stop(), redis?.stop(), postgres?.stop()]);
  };
  if (nats !== null && redis !== null && postgres !== null) return { nats, redis, postgres, stop };
  await stop();
  return null;
}

const folders = new Set<string>();
process.once('exit', () => {
  for (const folder of folders) removeFolder(folder);
});

/** A folder on the disk that holds temporary files; it goes with `remove`, or with this process. */
export function temporaryDataDir(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  folders.add(path);
  return { path, remove: () => removeFolder(path) };
}

function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  folders.delete(path);
}

/** One process with everything, on the given data directory. */
export async function startEmbedded(dataDir: string, extra: Environment = {}): Promise<System> {
  const port = await freePort();
  const startedAt = performance.now();
  const node = startNode('deploy/embedded.ts', [], {
    ...SETTINGS,
    SVC_DATA_DIR: dataDir,
    SVC_MCP_PORT: String(port),
    ...extra,
  });
  const url = `http://127.0.0.1:${port}`;
  const healthyAfterMs = (await answers(`${url}/health`, node)) - startedAt;
  const readyAfterMs = (await answers(`${url}/ready`, node)) - startedAt;
  return { urls: [url], brains: [node], processes: [node], healthyAfterMs, readyAfterMs, stop: () => node.stop() };
}

/** So many gateways and brain processes on shared servers and a data directory of their own. */
export async function startCluster(
  servers: Servers,
  counts: { gateways: number; brains: number },
  extra: Environment = {},
): Promise<System> {
  const dataDir = temporaryDataDir();
  const shared = {
    ...SETTINGS,
    SVC_DATA_DIR: dataDir.path,
    NATS_URL: servers.nats.url,
    REDIS_URL: servers.redis.url,
    SVC_KEYLESS: '1',
    SVC_START_WAIT_MS: '30000',
    DATABASE_URL: servers.postgres.url,
    ...extra,
  };
  const startedAt = performance.now();
  const brains = Array.from({ length: counts.brains }, (_, index) =>
    startNode('deploy/node.ts', ['brain'], { ...shared, SVC_NODE_ID: `brain-${index}` }),
  );
  const others = SERVICE_NAMES.filter((name) => name !== 'brain').map((service) =>
    startNode('deploy/node.ts', [service], { ...shared, SVC_NODE_ID: service }),
  );
  const gateways: NodeProcess[] = [];
  const urls: string[] = [];
  for (let index = 0; index < counts.gateways; index += 1) {
    const port = await freePort();
    const place = { SVC_MCP_PORT: String(port), SVC_NODE_ID: `gateway-${index}` };
    gateways.push(startNode('deploy/node.ts', ['gateway'], { ...shared, ...place }));
    urls.push(`http://127.0.0.1:${port}`);
  }
  let healthyAt = startedAt;
  let readyAt = startedAt;
  for (const [index, gateway] of gateways.entries()) {
    healthyAt = await answers(`${urls[index]}/health`, gateway);
    readyAt = await answers(`${urls[index]}/ready`, gateway);
  }
  for (const url of urls) await brainsAlive(url, counts.brains);
  return {
    urls,
    brains,
    processes: [...gateways, ...brains, ...others],
    healthyAfterMs: healthyAt - startedAt,
    readyAfterMs: readyAt - startedAt,
    async stop() {
      await Promise.all([...gateways, ...brains, ...others].map((one) => one.stop()));
      dataDir.remove();
    },
  };
}

/** When (of `performance.now()`) the address first answered 200. Throws when the process ends before. */
async function answers(url: string, node: NodeProcess): Promise<number> {
  const ends: { output: string }[] = [];
  void node.ended.then((end) => ends.push(end));
  for (;;) {
    const reply = await fetch(url).catch(() => null);
    if (reply?.status === 200) return performance.now();
    const [end] = ends;
    if (end !== undefined) throw new Error(`${url} never answered:\n${end.output}`);
    await delay(PROBE_EVERY_MS);
  }
}

async function brainsAlive(url: string, count: number): Promise<void> {
  for (;;) {
    const { content } = await callTool(url, AUTHORISED, 'nodes_list', {});
    const { nodes } = content as { nodes: { service: string; status: string }[] };
    if (nodes.filter(({ service, status }) => service === 'brain' && status === 'alive').length >= count) return;
    await delay(100);
  }
}
