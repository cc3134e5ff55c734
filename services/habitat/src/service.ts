/** The registry of identities: who may. */
import { join } from 'node:path';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition, ServiceHandle } from '@svc/runtime/service.ts';
import { openStore } from '@svc/runtime/store.ts';
import { answerQuestions } from './bus.ts';
import type { HabitatDeps } from './deps.ts';
import { createRevision } from './revision.ts';
import { holdsRole } from './roles.ts';
import { createSessions } from './sessions.ts';
import { createHabitatStore } from './store/habitat-store.ts';
import { habitatTools } from './tools/all.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');

export const habitatService: ServiceDefinition<HabitatDeps> = {
  name: 'habitat',
  tools: habitatTools,
  start: startHabitat,
};

async function startHabitat(platform: Platform): Promise<ServiceHandle<HabitatDeps>> {
  const base = await openStore(platform, { service: 'habitat', migrations: MIGRATIONS });
  const { database, clock } = platform;
  const revision = createRevision({ client: base.client, exclusive: database.exclusive, clock });
  const store = createHabitatStore(base, revision, platform);
  const deps: HabitatDeps = { platform, store, revision, sessions: createSessions(platform) };
  await store.start();
  const answering = await answerQuestions(deps, platform);
  return {
    deps,
    holdsRole: (caller, workspace, role) => holdsRole(store.client, caller, workspace, role),
    checks: () => store.checks(),
    async drain() {
      await Promise.all(answering.map((subscription) => subscription.drain()));
    },
    close: () => store.close(),
  };
}
