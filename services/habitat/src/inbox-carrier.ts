/** Carries what is put into inboxes: to the channels of messages, and tasks to the queue of their agent as well. */
import { AGORA } from '@svc/contract/operations.agora.ts';
import { UNIVERSE } from '@svc/contract/operations.universe.ts';
import { type Carrier, createCarrier } from '@svc/runtime/carrier.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { markCarried, markQueued, readUncarried, readUnqueued } from './store/agent-inbox.ts';

export type InboxCarrier = Carrier;

/** One that cannot be reached does not keep the other waiting. */
export function createInboxCarrier(client: SqlClient, platform: Pick<Platform, 'bus' | 'clock' | 'log'>): InboxCarrier {
  const { send } = createOperationClient(platform, AGORA, 'habitat');
  const { fillInbox } = createOperationClient(platform, UNIVERSE, 'habitat');
  const carriers = [
    createCarrier(platform, {
      what: 'messages of inboxes',
      read: (limit) => readUncarried(client, limit),
      idOf: ({ ref }) => ref,
      send: ({ ref, channel, by: from, text: content }, options) => send({ ref, channel, from, content }, options),
      mark: (one) => markCarried(client, one),
    }),
    createCarrier(platform, {
      what: 'tasks of inboxes',
      read: (limit) => readUnqueued(client, limit),
      idOf: ({ taskId }) => taskId,
      send: ({ isOpen: _isOpen, ...task }, options) => fillInbox(task, options),
      mark: (one) => markQueued(client, one),
    }),
  ];
  const all = async (what: 'flush' | 'close'): Promise<void> => {
    await Promise.all(carriers.map((carrier) => carrier[what]()));
  };
  return {
    kick: () => carriers.forEach((carrier) => carrier.kick()),
    flush: () => all('flush'),
    close: () => all('close'),
  };
}
