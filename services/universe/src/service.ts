/** The universe: where work happens. */
import { join } from 'node:path';
import { UNIVERSE_EVENTS } from '@svc/contract/events.universe.ts';
import { UNIVERSE } from '@svc/contract/operations.universe.ts';
import { serveOperations } from '@svc/runtime/operations.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import { createCompute } from './compute/compute.ts';
import { createCrews } from './crews/crews.ts';
import { crewJobs } from './crews/jobs.ts';
import { openCron } from './cron/cron.ts';
import type { UniverseDeps } from './deps.ts';
import { openDoors } from './doors.ts';
import { createNetwork } from './network/network.ts';
import { universeOperations } from './operations/all.ts';
import { createInnerCalls } from './inner-calls.ts';
import { createOperationStore } from './recursion/operation-store.ts';
import { createPorts } from './ports.ts';
import { createRegistry } from './registry.ts';
import { openShells } from './shell/opening.ts';
import { standingOf } from './standing.ts';
import { createInboxStore } from './streams/inbox-store.ts';
import { streamJobs } from './streams/jobs.ts';
import { createReporting } from './streams/reporting.ts';
import { createStreamStore } from './streams/stream-store.ts';
import { createWorkStore } from './streams/work-store.ts';
import { allTools } from './tools/all.ts';
import { openWorlds } from './worlds/worlds.ts';

export const universeService = storeService<UniverseDeps, typeof UNIVERSE_EVENTS>({
  name: 'universe',
  tools: allTools,
  serve: (platform, deps) => serveOperations(platform, { operations: UNIVERSE, handlers: universeOperations, deps }),
  events: UNIVERSE_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  async open(platform, store) {
    const { clock, ids, random } = platform;
    const registry = createRegistry(platform);
    const streams = createStreamStore(store, platform);
    const inboxes = createInboxStore(store, ids);
    const reporting = createReporting(platform, inboxes);
    const work = createWorkStore(store, clock, reporting.kick);
    const crews = createCrews(platform, store, inboxes);
    const compute = createCompute(clock);
    const calls = createInnerCalls(platform);
    const cron = await openCron(platform, { store, calls, registry });
    const { worlds, ...room } = openWorlds(platform, store, createPorts(platform));
    const shells = openShells(platform, store);
    const sandbox = { compute, network: createNetwork(clock), sandboxStore: store, ...shells.deps };
    const doors = await openDoors(platform, { store, registry, compute, shell: shells.deps.shell });
    return {
      deps: {
        registry,
        random,
        streams,
        work,
        inboxes,
        crews,
        calls,
        cron,
        worlds,
        operations: createOperationStore(store),
        ...sandbox,
        ...doors.deps,
      },
      holdsRole: async (caller, workspace, role) => (await standingOf({ registry }, caller)).holds(workspace, role),
      jobs: [
        ...streamJobs({ work, inboxes, reporting }),
        ...cron.runner.jobs,
        ...doors.jobs,
        ...shells.jobs,
        ...crewJobs(crews.reconciler),
        ...room.jobs,
      ],
      drain: async () => {
        await Promise.all([cron.runner.drain(), reporting.close(), crews.close(), room.drain()]);
      },
      close: async () => {
        await Promise.all([compute.close(), shells.close()]);
      },
    };
  },
});
