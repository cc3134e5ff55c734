/** Tells the registry what became of the tasks that it put into inboxes. */
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { type Carrier, createCarrier } from '@svc/runtime/carrier.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { reportOf } from './domain/report.ts';
import type { InboxStore } from './inbox-store.ts';

export function createReporting(
  platform: Pick<Platform, 'bus' | 'clock' | 'log'>,
  inboxes: Pick<InboxStore, 'unreported' | 'markReported'>,
): Carrier {
  const { reportTask } = createOperationClient(platform, HABITAT, 'universe');
  return createCarrier(platform, {
    what: 'reports of delegated tasks',
    idOf: ({ taskId, number }) => `${taskId} ${number}`,
    read: inboxes.unreported,
    send: ({ taskId, number, ...work }, options) => reportTask({ taskId, number, ...reportOf(work) }, options),
    mark: inboxes.markReported,
  });
}
