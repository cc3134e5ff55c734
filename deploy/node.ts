/** One process of a cluster: `node deploy/node.ts gateway`, `node deploy/node.ts brain`, …. */
import { ConfigProblem } from '@svc/runtime/config.ts';
import { type ServiceDefinition, startService } from '@svc/runtime/service.ts';
import { addStores, connectCluster } from './platform.cluster.ts';
import { runProcess, type Start } from './process.ts';

type Run = (start: Start) => Promise<void>;

/** Runs a service that keeps data of its own. */
async function runService<Deps>({ grounds, lifecycle }: Start, definition: ServiceDefinition<Deps>): Promise<void> {
  const platform = await addStores(await connectCluster(grounds, lifecycle, definition.name), lifecycle);
  const service = await startService(platform, definition);
  lifecycle.onShutdown(definition.name, () => service.stop());
  process.stdout.write(`${definition.name} is running\n`);
}

// A process loads the code of its own role alone: it starts sooner and is smaller.
const SERVICES = new Map<string, Run>([
  ['habitat', async (start) => runService(start, (await import('@svc/habitat/service.ts')).habitatService)],
  ['escrow', async (start) => runService(start, (await import('@svc/escrow/service.ts')).escrowService)],
  ['brain', async (start) => runService(start, (await import('@svc/brain/service.ts')).brainService)],
]);

async function runGateway({ grounds, lifecycle }: Start): Promise<void> {
  const { startGateway } = await import('@svc/gateway/service.ts');
  const platform = await connectCluster(grounds, lifecycle, 'gateway');
  const gateway = await startGateway(platform, { expectedServices: [...SERVICES.keys()] });
  lifecycle.onShutdown('gateway', () => gateway.close());
  lifecycle.onShutdown('doors', () => gateway.drain());
  process.stdout.write(`listening on http://${gateway.address}:${gateway.port}\n`);
}

const RUNS = new Map<string, Run>([['gateway', runGateway], ...SERVICES]);

const name = process.argv[2] ?? '';
await runProcess(name, async (start) => {
  const run = RUNS.get(name);
  if (run === undefined) throw new ConfigProblem(`usage: node deploy/node.ts ${[...RUNS.keys()].join('|')}`);
  await run(start);
});
