/** Recurring work of the brain. The truth is in the database and on disk; a run only looks. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { BrainHost } from './brain/brain-host.ts';
import { expireRescues } from './git/refs.ts';
import { maintainRepository } from './git/maintenance.ts';
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
const DAY = 24 * 60 * MINUTE;
const RESCUES_KEPT_MS = 90 * DAY;

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
    run: () => maintainBrains(platform, host),
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

/** In each branch's queue, so that nothing is packed while it is written. */
async function maintainBrains({ clock }: Platform, host: BrainHost): Promise<void> {
  for (const brain of host.openBrains()) {
    const writer = (await brain.openTrees()).get('main');
    const { repository } = brain.context;
    const now = clock.now();
    await writer?.alone(now + 60 * MINUTE, async () => {
      await expireRescues(repository, new Date(now - RESCUES_KEPT_MS), new Date(now));
      await maintainRepository(repository);
    });
  }
}
