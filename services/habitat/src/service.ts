/** The registry of identities: who may. */
import { join } from 'node:path';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition, ServiceHandle } from '@svc/runtime/service.ts';
import { openStore } from '@svc/runtime/store.ts';
import { type Audit, openAudit } from './audit/audit.ts';
import { createBrainPort } from './brain-port.ts';
import { answerQuestions } from './bus.ts';
import type { HabitatDeps } from './deps.ts';
import { createRevision } from './revision.ts';
import { holdsRole } from './roles.ts';
import { createSessions } from './sessions.ts';
import { sweepMessages } from './store/agent-inbox.ts';
import { createHabitatStore, type HabitatStore } from './store/habitat-store.ts';
import { scheduleTokenSweep, startTokenUse } from './token-use.ts';
import { sweepSudo } from './store/sudo-rows.ts';
import { sweepAuditUse } from './store/audit-use.ts';
import { habitatTools } from './tools/all.ts';

const SWEEP_SUDO_MS = 600_000;
const SAVE_AUDIT_MS = 60_000;
const SWEEP_AUDIT_USE_MS = 3_600_000;
const SWEEP_MESSAGES_MS = 3_600_000;
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
  const audit = await openAudit(platform, base.client);
  await audit.assertKey();
  const store = createHabitatStore({ store: base, revision, audit, platform });
  const tokenUse = await startTokenUse(base.client, platform);
  const deps: HabitatDeps = {
    platform,
    store,
    revision,
    sessions: createSessions(platform),
    tokenUse,
    audit,
    brain: createBrainPort(platform),
  };
  await store.start();
  await scheduleTokenSweep(platform, store.client);
  await scheduleUpkeep(platform, store, audit);
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

async function scheduleUpkeep({ jobs, config }: Platform, { client }: HabitatStore, audit: Audit): Promise<void> {
  const upkeep = [
    { id: 'habitat.sudo-sweep', everyMs: SWEEP_SUDO_MS, run: () => sweepSudo(client) },
    { id: 'habitat.audit-checkpoints', everyMs: SAVE_AUDIT_MS, run: () => audit.saveAll() },
    { id: 'habitat.audit-use-sweep', everyMs: SWEEP_AUDIT_USE_MS, run: () => sweepAuditUse(client) },
    {
      id: 'habitat.message-sweep',
      everyMs: SWEEP_MESSAGES_MS,
      run: () => sweepMessages(client, config.SVC_KEEP_MESSAGES_DAYS),
    },
  ];
  for (const { id, everyMs, run } of upkeep) {
    await jobs.schedule({
      id,
      everyMs,
      scope: 'cluster',
      async run() {
        await run();
      },
    });
  }
}
