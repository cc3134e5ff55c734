import { toolFor } from '@svc/contract/tool.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { EventLog } from './event-log/event-log.ts';
import type { PostStore } from './forum/post-store.ts';
import type { PresenceStore } from './forum/presence.ts';
import type { VoteStore } from './forum/vote-store.ts';
import type { MessageStore } from './messages/message-store.ts';
import type { LedgerStore } from './ledger/store/ledger-store.ts';
import type { FederationDeps } from './federation/opening.ts';
import type { Registry } from './registry.ts';

/** What agora's tools work with. */
export interface AgoraDeps extends FederationDeps {
  readonly ledgers: LedgerStore;
  readonly registry: Registry;
  readonly ids: Ids;
  readonly eventLog: EventLog;
  /** As whom an operator acts who names nobody; null = as nobody. */
  readonly nodeAgentId: string | null;
  readonly messages: MessageStore;
  readonly posts: PostStore;
  readonly presence: PresenceStore;
  readonly votes: VoteStore;
}

export const defineTool = toolFor<AgoraDeps>();
