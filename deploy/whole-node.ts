/** All services in one process, behind one gateway. */
import { resolve } from 'node:path';
import type { Config } from '@svc/runtime/config.ts';
import { measureProcess } from '@svc/runtime/measures.ts';
import { type Gateway, startGateway } from '@svc/gateway/service.ts';
import type { DataDirectory } from './data-directory.ts';
import { startHealthPort } from './health.ts';
import { httpUrl } from './http-url.ts';
import { addStores, createEmbeddedDoors, type EmbeddedStore } from './platform.embedded.ts';
import { removeNodeAddress, writeNodeAddress } from './node-address.ts';
import type { Start } from './process.ts';
import type { CataloguedService } from './services.ts';
import { countUsers } from './users.ts';

interface WholeNode {
  readonly directory: DataDirectory;
  readonly store: EmbeddedStore;
  readonly services: readonly CataloguedService[];
  /** Variables of a cluster that were given to a node in one process. */
  readonly leftAside: readonly string[];
}

export async function startWholeNode(
  { context, lifecycle }: Start,
  { directory, store, services, leftAside }: WholeNode,
): Promise<void> {
  const doors = createEmbeddedDoors(context, lifecycle);
  measureProcess(doors, ['embedded']);
  const gateway = await startGateway(doors, { expectedServices: services.map(({ name }) => name) });
  lifecycle.onShutdown('gateway', () => gateway.close());
  const { SVC_HEALTH_PORT: healthPort } = context.config;
  const health = healthPort === undefined ? null : await startHealthPort(context, lifecycle);
  health?.serve(async () => (await gateway.ready()).checks);
  const platform = await addStores(doors, store, lifecycle);
  directory.inUse();
  for (const { name, start } of services) {
    const service = await start(platform);
    lifecycle.onShutdown(name, () => service.stop());
  }
  gateway.started();
  lifecycle.onShutdown('doors', () => gateway.drain());
  lifecycle.onShutdown('readiness', async () => health?.leave());
  const url = httpUrl(shownHost(gateway.address), gateway.port);
  await tellAddress(url, gateway, { context, lifecycle }, directory.path);
  process.stdout.write(greeting(url, platform.config, leftAside));
}

/** From now on others find the node by its data directory; one that shall linger ends itself when they have left. */
async function tellAddress(
  url: string,
  { usedAt }: Gateway,
  { context: { config }, lifecycle }: Start,
  directory: string,
): Promise<void> {
  const lingerMs = config.SVC_LINGER_MS;
  const onDeserted = (): void => void process.kill(process.pid, 'SIGTERM');
  const users = lingerMs === 0 ? null : await countUsers({ lingerMs, usedAt, onDeserted });
  writeNodeAddress(directory, { url, users: users?.address ?? null });
  lifecycle.onShutdown('address', async () => {
    removeNodeAddress(directory);
    users?.close();
  });
}

/** 0.0.0.0 is where it listens, not where one can call it. */
function shownHost(address: string): string {
  return address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
}

function greeting(url: string, config: Config, leftAside: readonly string[]): string {
  const keyed = config.SVC_API_KEY !== undefined;
  const off = [
    ...(keyed ? [] : ['no API key: only this machine can call (SVC_API_KEY)']),
    ...(config.HOST_REPO === undefined && config.SVC_SYNC_REMOTES === undefined
      ? ['no remote to sync with (SVC_SYNC_REMOTES)']
      : []),
    ...(leftAside.length > 0
      ? [`${leftAside.join(', ')}: of a cluster; one process keeps all in its own data directory`]
      : []),
    'one process: killed, it loses nothing; a power cut can cost the last moments of its database',
  ];
  const call = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'svc_set_memory', arguments: { category: 'learnings', filename: 'first', content: 'It works.' } },
  });
  const header = keyed ? ` -H "authorization: Bearer $SVC_API_KEY"` : '';
  return [
    '',
    `  listening on ${url}`,
    `  data in ${resolve(config.SVC_DATA_DIR)}`,
    ...off.map((line) => `  off: ${line}`),
    '  try:',
    `  curl -s ${url}/call -H 'content-type: application/json'${header} -d '${call}'`,
    '  or, with the command line of docs/cli.md:  npm exec svc -- status',
    '',
    '',
  ].join('\n');
}
