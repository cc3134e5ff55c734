/** One process of a cluster: `node deploy/node.ts gateway`, `node deploy/node.ts brain`, …. */
import { ConfigProblem } from '@svc/runtime/config.ts';
import { type ServiceDefinition, startService } from '@svc/runtime/service.ts';
import { brainService } from '@svc/brain/service.ts';
import { escrowService } from '@svc/escrow/service.ts';
import { startGateway } from '@svc/gateway/service.ts';
import { habitatService } from '@svc/habitat/service.ts';
import { addStores, connectCluster } from './platform.cluster.ts';
import { runProcess, type Start } from './process.ts';

type Run = (start: Start) => Promise<void>;

/** Runs a service that keeps data of its own. */
function serviceRun<Deps>(definition: ServiceDefinition<Deps>): Run {
  return async ({ grounds, lifecycle }) => {
    const platform = await addStores(await connectCluster(grounds, lifecycle, definition.name), lifecycle);
    const service = await startService(platform, definition);
    lifecycle.onShutdown(definition.name, () => service.stop());
    process.stdout.write(`${definition.name} is running\n`);
  };
}

const RUNS = new Map<string, Run>([
  [
    'gateway',
    async ({ grounds, lifecycle }) => {
      const gateway = await startGateway(await connectCluster(grounds, lifecycle, 'gateway'), {
        expectedServices: [habitatService.name, escrowService.name, brainService.name],
      });
      lifecycle.onShutdown('gateway', () => gateway.close());
      lifecycle.onShutdown('doors', () => gateway.drain());
      process.stdout.write(`listening on http://${gateway.address}:${gateway.port}\n`);
    },
  ],
  ['brain', serviceRun(brainService)],
  ['escrow', serviceRun(escrowService)],
  ['habitat', serviceRun(habitatService)],
]);

const name = process.argv[2] ?? '';
await runProcess(name, async (start) => {
  const run = RUNS.get(name);
  if (run === undefined) throw new ConfigProblem(`usage: node deploy/node.ts ${[...RUNS.keys()].join('|')}`);
  await run(start);
});
