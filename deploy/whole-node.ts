/** All services in one process, behind one gateway. */
import { resolve } from 'node:path';
import type { Config } from '@svc/runtime/config.ts';
import { measureProcess } from '@svc/runtime/measures.ts';
import { startService } from '@svc/runtime/service.ts';
import { brainService } from '@svc/brain/service.ts';
import { escrowService } from '@svc/escrow/service.ts';
import { startGateway } from '@svc/gateway/service.ts';
import { habitatService } from '@svc/habitat/service.ts';
import type { DataDirectory } from './data-directory.ts';
import { startHealthPort } from './health.ts';
import { addStores, createEmbeddedDoors, type EmbeddedStore } from './platform.embedded.ts';
import type { Start } from './process.ts';

const SERVICES = [habitatService.name, escrowService.name, brainService.name];

export async function startWholeNode(
  { context, lifecycle }: Start,
  directory: DataDirectory,
  store: EmbeddedStore,
): Promise<void> {
  const doors = createEmbeddedDoors(context, lifecycle);
  measureProcess(doors, 'embedded');
  const gateway = await startGateway(doors, { expectedServices: SERVICES });
  lifecycle.onShutdown('gateway', () => gateway.close());
  const { SVC_HEALTH_PORT: healthPort } = context.config;
  const health = healthPort === undefined ? null : await startHealthPort(context, lifecycle);
  health?.serve(async () => (await gateway.ready()).checks);
  const platform = await addStores(doors, store, lifecycle);
  directory.inUse();
  // First, because the others ask it who may.
  const habitat = await startService(platform, habitatService);
  lifecycle.onShutdown('habitat', () => habitat.stop());
  const escrow = await startService(platform, escrowService);
  lifecycle.onShutdown('escrow', () => escrow.stop());
  const brain = await startService(platform, brainService);
  lifecycle.onShutdown('brain', () => brain.stop());
  lifecycle.onShutdown('doors', () => gateway.drain());
  lifecycle.onShutdown('readiness', async () => health?.leave());
  process.stdout.write(greeting(`http://${shownHost(gateway.address)}:${gateway.port}`, platform.config));
}

/** 0.0.0.0 is where it listens, not where one can call it. */
function shownHost(address: string): string {
  return address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address;
}

function greeting(url: string, config: Config): string {
  const keyed = config.SVC_API_KEY !== undefined;
  const off = [
    ...(keyed ? [] : ['no API key: only this machine can call (SVC_API_KEY)']),
    ...(config.HOST_REPO === undefined && config.SVC_SYNC_REMOTES === undefined
      ? ['no remote to sync with (SVC_SYNC_REMOTES)']
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
    '',
    '',
  ].join('\n');
}
