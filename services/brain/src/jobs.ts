/** Recurring work of the brain. The truth is in the database and on disk; a run only looks. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { BrainHost } from './brain/brain-host.ts';
import { maintainBrain, packBrainWhenDue } from './brain/housekeeping.ts';
import { sweepAddresses } from './addresses/address-store.ts';
import { sweepContexts } from './context/context-store.ts';
import type { Meaning } from './embedding/meaning.ts';
import { createHolderCheck } from './lease-holders.ts';
import { sweepMemory } from './memory/memory-store.ts';
import { sweepConflicts } from './store/conflict-store.ts';
import { sweepHomes } from './store/file-homes.ts';
import { freeExpiredLeases } from './store/lease-store.ts';
import type { SessionStore } from './store/session-store.ts';
import { sweepTmp } from './tmp/tmp-store.ts';
import { leaseReleased } from './operations/lease.ts';

interface JobParts {
  readonly platform: Platform;
  readonly host: BrainHost;
  readonly store: Pick<ServiceStore, 'client' | 'outbox' | 'transact'>;
  readonly registry: Pick<RegistryClient<'brain'>, 'roles' | 'revision'>;
  readonly sessions: SessionStore;
  readonly meaning: Pick<Meaning, 'filler'>;
  /** Builds the contexts again whose time has come. */
  beat(): Promise<void>;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function brainJobs(parts: JobParts): JobDeclaration[] {
  const { platform, host, meaning } = parts;
  return [
    leases(parts),
    {
      id: 'brain.external-edit-scan',
      everyMs: MINUTE,
      scope: 'process',
      run: () => lookAtBrains(platform, host),
    },
    {
      id: 'brain.vectors',
      everyMs: SECOND,
      scope: 'process',
      run: ({ signal }) => meaning.filler.run(signal),
    },
    {
      id: 'brain.context-heartbeat',
      everyMs: 15 * SECOND,
      scope: 'cluster',
      run: () => parts.beat(),
    },
    {
      id: 'brain.maintenance',
      everyMs: DAY,
      scope: 'process',
      async run() {
        for (const brain of host.openBrains()) await maintainBrain(brain);
      },
    },
    {
      id: 'brain.packing',
      everyMs: HOUR,
      scope: 'process',
      async run() {
        for (const brain of host.openBrains()) await packBrainWhenDue(brain);
      },
    },
    ...sweeps(parts),
  ];
}

/** A statement that looks knows by itself what has ended; this tells of it, and ends what is held no longer by right. */
function leases({ store, registry }: JobParts): JobDeclaration {
  const checkHolders = createHolderCheck(store, registry);
  return {
    id: 'brain.lease-expiry',
    everyMs: 2 * SECOND,
    scope: 'cluster',
    async run() {
      await endExpiredLeases(store);
      await checkHolders();
    },
  };
}

/** Of rows that are past their time. */
function sweeps({ platform, store, sessions }: JobParts): JobDeclaration[] {
  return [
    {
      id: 'brain.session-sweep',
      everyMs: 10 * MINUTE,
      scope: 'cluster',
      async run() {
        await sessions.sweep(platform.config.SVC_KEEP_SESSIONS_DAYS);
        await sweepContexts(store.client, platform.config.SVC_KEEP_SESSIONS_DAYS);
      },
    },
    {
      id: 'brain.memory-sweep',
      everyMs: MINUTE,
      scope: 'cluster',
      run: () => sweepMemory(store),
    },
    {
      id: 'brain.tmp-sweep',
      everyMs: 10 * MINUTE,
      scope: 'cluster',
      run: () => sweepTmp(store.client),
    },
    {
      id: 'brain.trace-sweep',
      everyMs: HOUR,
      scope: 'cluster',
      run: () => sweepTraces(store.client, platform.config.SVC_KEEP_TRACES_DAYS),
    },
  ];
}

/** What only tells of things that are gone. */
async function sweepTraces(client: SqlClient, keptDays: number): Promise<void> {
  await sweepHomes(client, keptDays);
  await sweepConflicts(client, keptDays);
  await sweepAddresses(client);
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

async function lookAtBrains({ clock, log }: Platform, host: BrainHost): Promise<void> {
  await host.finishMoves();
  for (const { trees, context } of host.openBrains()) {
    try {
      await trees.scan();
      await trees.closeIdle(clock.now() - DAY);
    } catch (err) {
      log.warn({ err, brain: context.name }, 'a brain could not be looked through');
    }
  }
}
