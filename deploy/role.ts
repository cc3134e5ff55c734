/** One process of a cluster: a gateway, or one of the services behind it. */
import { hostname } from 'node:os';
import { type Config, ConfigProblem } from '@svc/runtime/config.ts';
import { watchEventLoop } from '@svc/runtime/event-loop.ts';
import { measureProcess } from '@svc/runtime/measures.ts';
import { startHealthPort } from './health.ts';
import { addStores, connectCluster } from './platform.cluster.ts';
import { runProcess, type Start } from './process.ts';
import type { CataloguedService } from './services.ts';

/** Ends with the process. `role` is `gateway` or a name among the services. */
export async function runRole(role: string, services: readonly CataloguedService[]): Promise<void> {
  await runProcess(role, async (start) => {
    const names = services.map(({ name }) => name);
    if (role === 'gateway') return runGateway(start, names);
    const service = services.find(({ name }) => name === role);
    if (service === undefined) throw new ConfigProblem(`usage: node deploy/node.ts ${['gateway', ...names].join('|')}`);
    await runService(start, service);
  });
}

async function runService({ context, lifecycle }: Start, { name, start }: CataloguedService): Promise<void> {
  requireSettings(context.config, ['NATS_URL', 'REDIS_URL', 'DATABASE_URL']);
  const health = await startHealthPort(context, lifecycle);
  const platform = await addStores(await connectCluster(context, lifecycle, name), lifecycle);
  measureProcess(platform, name);
  const loop = watchEventLoop(platform.metrics);
  lifecycle.onShutdown('event loop', async () => loop.close());
  const service = await start(platform, { host: hostname(), port: health.port });
  lifecycle.onShutdown(name, () => service.stop());
  health.serve(() => service.checks());
  lifecycle.onShutdown('readiness', async () => health.leave());
  process.stdout.write(`${name} is running, its health at http://${health.address}:${health.port}\n`);
}

async function runGateway({ context, lifecycle }: Start, expectedServices: readonly string[]): Promise<void> {
  requireSettings(context.config, ['NATS_URL', 'REDIS_URL']);
  requireKey(context.config);
  const { startGateway } = await import('@svc/gateway/service.ts');
  const health = await startHealthPort(context, lifecycle);
  const platform = await connectCluster(context, lifecycle, 'gateway');
  measureProcess(platform, 'gateway');
  const gateway = await startGateway(platform, { expectedServices });
  lifecycle.onShutdown('gateway', () => gateway.close());
  health.serve(async () => (await gateway.ready()).checks);
  lifecycle.onShutdown('doors', () => gateway.drain());
  lifecycle.onShutdown('readiness', async () => health.leave());
  process.stdout.write(`listening on http://${gateway.address}:${gateway.port}\n`);
}

/** Everything that is missing at once, before anything is tried. */
function requireSettings(config: Config, names: readonly (keyof Config)[]): void {
  const missing = names.filter((name) => config[name] === undefined);
  if (missing.length > 0) throw new ConfigProblem(`${missing.join(', ')}: needed to run a service of the cluster`);
}

/** Without a key whoever reaches the gateway from its machine is the operator of the whole cluster. */
function requireKey({ SVC_API_KEY: key, SVC_KEYLESS: isKeyless }: Config): void {
  if (key !== undefined || isKeyless) return;
  throw new ConfigProblem(
    'SVC_API_KEY is needed by a gateway of a cluster; SVC_KEYLESS=1 makes everybody on its machine the operator instead',
  );
}
