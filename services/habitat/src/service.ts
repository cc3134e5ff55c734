/** The registry of identities: who may. */
import { join } from 'node:path';
import { HABITAT_EVENTS } from '@svc/contract/events.habitat.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import { serveOperations } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import { type Audit, openAudit } from './audit/audit.ts';
import { createBrainPort } from './brain-port.ts';
import type { HabitatDeps } from './deps.ts';
import { createInboxCarrier, type InboxCarrier } from './inbox-carrier.ts';
import { habitatOperations } from './operations/all.ts';
import { createRevision } from './revision.ts';
import { holdsRole } from './roles.ts';
import { createSessions } from './sessions.ts';
import { sweepMessages } from './store/agent-inbox.ts';
import { auditBytes } from './store/audit-cuts.ts';
import { sweepAuditUse } from './store/audit-use.ts';
import { createHabitatStore, type HabitatStore } from './store/habitat-store.ts';
import { sweepSudo } from './store/sudo-rows.ts';
import { sweepTokens } from './store/token-rows.ts';
import { startTokenUse } from './token-use.ts';
import { habitatTools } from './tools/all.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CARRY_MS = 5000;

export const habitatService = storeService({
  name: 'habitat',
  tools: habitatTools,
  serve: (platform, deps) => serveOperations(platform, { operations: HABITAT, handlers: habitatOperations, deps }),
  events: HABITAT_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  async open(platform, base) {
    const { database, clock } = platform;
    const revision = createRevision({ client: base.client, exclusive: database.exclusive, clock });
    const audit = await openAudit(platform, base.client);
    await audit.assertKey();
    const store = createHabitatStore({ store: base, revision, audit, platform });
    platform.metrics.gauge(
      'svc_audit_bytes',
      'Entries of the audit with their indexes, on disk.',
      [],
      async (gauge) => {
        gauge.set(await auditBytes(base.client));
      },
    );
    const carrier = createInboxCarrier(base.client, platform);
    const tokenUse = await startTokenUse(base.client, platform);
    const deps: HabitatDeps = {
      platform,
      store,
      revision,
      sessions: createSessions(platform),
      tokenUse,
      audit,
      brain: createBrainPort(platform),
      inboxFilled: carrier.kick,
    };
    return {
      deps,
      holdsRole: (caller, workspace, role) => holdsRole(store.client, caller, workspace, role),
      jobs: upkeep(platform, store, { audit, carrier }),
      drain: () => carrier.close(),
      async close() {
        await tokenUse.close();
        await audit.close();
      },
    };
  },
});

interface Upkept {
  readonly audit: Audit;
  readonly carrier: Pick<InboxCarrier, 'flush'>;
}

function upkeep({ config }: Platform, { client }: HabitatStore, { audit, carrier }: Upkept): JobDeclaration[] {
  const clusterJob = (id: string, everyMs: number, run: JobDeclaration['run']): JobDeclaration => ({
    id: `habitat.${id}`,
    everyMs,
    scope: 'cluster',
    run,
  });
  return [
    clusterJob('token-sweep', HOUR_MS, () => sweepTokens(client, config.SVC_KEEP_TOKENS_DAYS)),
    clusterJob('sudo-sweep', 10 * MINUTE_MS, () => sweepSudo(client)),
    clusterJob('audit-checkpoints', MINUTE_MS, () => audit.saveAll()),
    clusterJob('audit-cut', DAY_MS, () =>
      audit.cutOld({ days: config.SVC_KEEP_AUDIT_DAYS, entries: config.SVC_KEEP_AUDIT_ENTRIES }),
    ),
    clusterJob('audit-thin', HOUR_MS, () => audit.thinCheckpoints()),
    clusterJob('audit-use-sweep', HOUR_MS, () => sweepAuditUse(client)),
    clusterJob('inbox-carry', CARRY_MS, () => carrier.flush()),
    clusterJob('message-sweep', HOUR_MS, () => sweepMessages(client, config.SVC_KEEP_MESSAGES_DAYS)),
  ];
}
