/** The registry of identities: who may. */
import { join } from 'node:path';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition, ServiceHandle } from '@svc/runtime/service.ts';
import { openStore } from '@svc/runtime/store.ts';
import { openAudit } from './audit/audit.ts';
import { createBrainPort } from './brain-port.ts';
import { answerQuestions } from './bus.ts';
import type { HabitatDeps } from './deps.ts';
import { createRevision } from './revision.ts';
import { holdsRole } from './roles.ts';
import { createSessions } from './sessions.ts';
import { createHabitatStore } from './store/habitat-store.ts';
import { scheduleTokenSweep, startTokenUse } from './token-use.ts';
import { sweepSudo } from './store/sudo-rows.ts';
import { habitatTools } from './tools/all.ts';
import { createTurns } from './turns.ts';

const SWEEP_SUDO_MS = 600_000;
const SAVE_AUDIT_MS = 60_000;
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
  const audit = await openAudit(platform, base.client);
  await audit.assertKey();
  const tokenUse = await startTokenUse(base.client, platform);
  const deps: HabitatDeps = {
    platform,
    store,
    revision,
    sessions: createSessions(platform),
    tokenUse,
    audit,
    brain: createBrainPort(platform),
    inTurn: createTurns(),
  };
  await store.start();
  await scheduleTokenSweep(platform.jobs, store.client);
  await platform.jobs.schedule({
    id: 'habitat.sudo-sweep',
    everyMs: SWEEP_SUDO_MS,
    scope: 'cluster',
    async run() {
      await sweepSudo(store.client);
    },
  });
  await platform.jobs.schedule({
    id: 'habitat.audit-checkpoints',
    everyMs: SAVE_AUDIT_MS,
    scope: 'cluster',
    run: () => audit.saveAll(),
  });
  const answering = await answerQuestions(deps, platform);
  return {
    deps,
    holdsRole: (caller, workspace, role) => holdsRole(store.client, caller, workspace, role),
    checks: () => store.checks(),
    async drain() {
      await Promise.all(answering.map((subscription) => subscription.drain()));
    },
    async close() {
      await tokenUse.close();
      await store.close();
      await audit.close();
    },
  };
}
