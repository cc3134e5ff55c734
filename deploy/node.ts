/** One process of a cluster: `node deploy/node.ts gateway`, `node deploy/node.ts brain`, …. */
import { hostname } from 'node:os';
import { type Config, ConfigProblem } from '@svc/runtime/config.ts';
import { watchEventLoop } from '@svc/runtime/event-loop.ts';
import { measureProcess } from '@svc/runtime/measures.ts';
import { type ServiceDefinition, startService } from '@svc/runtime/service.ts';
import { startHealthPort } from './health.ts';
import { addStores, connectCluster } from './platform.cluster.ts';
import { runProcess, type Start } from './process.ts';

type Run = (start: Start) => Promise<void>;

/** Runs a service that keeps data of its own. */
async function runService<Deps>({ context, lifecycle }: Start, definition: ServiceDefinition<Deps>): Promise<void> {
  requireSettings(context.config, ['NATS_URL', 'REDIS_URL', 'DATABASE_URL']);
  const health = await startHealthPort(context, lifecycle);
  const platform = await addStores(await connectCluster(context, lifecycle, definition.name), lifecycle);
  measureProcess(platform, definition.name);
  const loop = watchEventLoop(platform.metrics);
  lifecycle.onShutdown('event loop', async () => loop.close());
  const service = await startService(platform, definition, { host: hostname(), port: health.port });
  lifecycle.onShutdown(definition.name, () => service.stop());
  health.serve(() => service.checks());
  lifecycle.onShutdown('readiness', async () => health.leave());
  process.stdout.write(`${definition.name} is running, its health at http://${health.address}:${health.port}\n`);
}

// A process loads the code of its own role alone: it starts sooner and is smaller.
const SERVICES = new Map<string, Run>([
  ['habitat', async (start) => runService(start, (await import('@svc/habitat/service.ts')).habitatService)],
  ['escrow', async (start) => runService(start, (await import('@svc/escrow/service.ts')).escrowService)],
  ['brain', async (start) => runService(start, (await import('@svc/brain/service.ts')).brainService)],
]);

async function runGateway({ context, lifecycle }: Start): Promise<void> {
  requireSettings(context.config, ['NATS_URL', 'REDIS_URL']);
  requireKey(context.config);
  const { startGateway } = await import('@svc/gateway/service.ts');
  const health = await startHealthPort(context, lifecycle);
  const platform = await connectCluster(context, lifecycle, 'gateway');
  measureProcess(platform, 'gateway');
  const gateway = await startGateway(platform, { expectedServices: [...SERVICES.keys()] });
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

const RUNS = new Map<string, Run>([['gateway', runGateway], ...SERVICES]);

const name = process.argv[2] ?? '';
await runProcess(name, async (start) => {
  const run = RUNS.get(name);
  if (run === undefined) throw new ConfigProblem(`usage: node deploy/node.ts ${[...RUNS.keys()].join('|')}`);
  await run(start);
});
