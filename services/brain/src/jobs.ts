/** Recurring work of the brain. The truth is in the database and on disk; a run only looks. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { BrainHost } from './brain/brain-host.ts';
import { maintainBrain, packBrainWhenDue } from './brain/housekeeping.ts';
import { freeExpiredLeases } from './store/lease-store.ts';
import type { SessionStore } from './store/session-store.ts';
import { leaseReleased } from './writer/lease-keeper.ts';

export interface JobParts {
  readonly platform: Platform;
  readonly host: BrainHost;
  readonly store: Pick<ServiceStore, 'outbox' | 'transact'>;
  readonly sessions: SessionStore;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export async function scheduleJobs({ platform, host, store, sessions }: JobParts): Promise<void> {
  const { jobs } = platform;
  await jobs.schedule({
    id: 'brain.lease-expiry',
    everyMs: 2 * SECOND,
    scope: 'cluster',
    run: () => endExpiredLeases(store),
  });
  await jobs.schedule({
    id: 'brain.external-edit-scan',
    everyMs: MINUTE,
    scope: 'process',
    run: () => lookAtBrains(platform, host),
  });
  await jobs.schedule({
    id: 'brain.session-sweep',
    everyMs: 10 * MINUTE,
    scope: 'cluster',
    async run() {
      await sessions.sweep();
    },
  });
  await jobs.schedule({
    id: 'brain.maintenance',
    everyMs: DAY,
    scope: 'process',
    async run() {
      for (const brain of host.openBrains()) await maintainBrain(brain);
    },
  });
  await jobs.schedule({
    id: 'brain.packing',
    everyMs: HOUR,
    scope: 'process',
    async run() {
      for (const brain of host.openBrains()) await packBrainWhenDue(brain);
    },
  });
}

async function endExpiredLeases({ outbox, transact }: JobParts['store']): Promise<void> {
  const ended = await transact(async (transaction) => {
    const expired = await freeExpiredLeases(transaction);
    await outbox.write(
      transaction,
      expired.map((lease) => leaseReleased({ ...lease, reason: 'expired' })),
    );
    return expired.length;
  });
  if (ended > 0) outbox.kick();
}

async function lookAtBrains({ clock }: Platform, host: BrainHost): Promise<void> {
  await host.finishMoves();
  for (const brain of host.openBrains()) {
    await brain.scan();
    await brain.closeIdleTrees(clock.now() - DAY);
  }
}
