/** Agora: what is said and decided. */
import { join } from 'node:path';
import { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import { AGORA } from '@svc/contract/operations.agora.ts';
import { serveOperations } from '@svc/runtime/operations.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import type { AgoraDeps } from './deps.ts';
import { openEventLog } from './event-log/event-log.ts';
import { forumJobs } from './forum/jobs.ts';
import { createPostStore } from './forum/post-store.ts';
import { createPresence } from './forum/presence.ts';
import { createVoteStore } from './forum/vote-store.ts';
import { messageJobs } from './messages/jobs.ts';
import { createMessageStore } from './messages/message-store.ts';
import { agoraOperations } from './operations/all.ts';
import { createKeyring, UNNAMED_SIGNER } from './federation/domain/keyring.ts';
import { identityOf } from './federation/domain/settings.ts';
import { openFederation } from './federation/opening.ts';
import { ledgerJobs } from './ledger/jobs.ts';
import { createLedgerHashes } from './ledger/store/ledger-hash.ts';
import { createLedgerStore } from './ledger/store/ledger-store.ts';
import { createMoney } from './ports.ts';
import { createRegistry } from './registry.ts';
import { allTools } from './tools/all.ts';

export const agoraService = storeService<AgoraDeps, typeof AGORA_EVENTS>({
  name: 'agora',
  tools: allTools,
  serve: (platform, deps) => serveOperations(platform, { operations: AGORA, handlers: agoraOperations, deps }),
  events: AGORA_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  async open(platform, store) {
    const { ids, config } = platform;
    const { eventLog, jobs, close } = await openEventLog(platform, store);
    const messages = createMessageStore(store, ids);
    const presence = createPresence(store);
    const identity = identityOf(config);
    const signer = identity === null ? UNNAMED_SIGNER : createKeyring(identity);
    const casting = { signer, hashes: createLedgerHashes() };
    const ledgers = createLedgerStore(store, casting, platform);
    const registry = createRegistry(platform);
    const federation = openFederation(platform, { store, casting, ledgers, registry });
    await federation.node.start();
    const votes = createVoteStore({ store, ledgers, money: createMoney(platform), log: platform.log });
    const deps: AgoraDeps = {
      registry,
      ...federation,
      ids,
      nodeAgentId: config.SVC_NODE_AGENT_ID ?? null,
      eventLog,
      ledgers,
      messages,
      posts: createPostStore(store, ids),
      presence,
      votes,
    };
    return {
      deps,
      jobs: [...jobs, ...messageJobs(messages), ...forumJobs(presence, votes), ...ledgerJobs(ledgers)],
      async checks() {
        return federation.node.member?.hasDouble() === true ? [{ name: 'node-name', status: 'degraded' }] : [];
      },
      drain: () => federation.node.close(),
      close,
    };
  },
});
