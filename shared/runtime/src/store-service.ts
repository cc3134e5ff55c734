/** A service that keeps data: everything about its start and its end that is the same for all of them. */
import type { Check } from '@svc/contract/discovery.ts';
import type { Tool } from '@svc/contract/tool.ts';
import type { HoldsRole } from './dispatch.ts';
import type { JobDeclaration } from './jobs.ts';
import type { Platform } from './platform.ts';
import type { ServiceDefinition } from './service.ts';
import type { EventIn, EventTable } from './outbox.ts';
import { openStore, type ServiceStore } from './store.ts';

interface StoreService<Deps, Events extends EventTable> {
  readonly name: string;
  readonly tools: readonly Tool<Deps>[];
  /** Its own, of shared/contract. */
  readonly events: Events;
  /** Folder of its migrations. */
  readonly migrations: string;
  readonly serve?: ServiceDefinition<Deps>['serve'];
  /** Makes it ready to work; nobody asks it anything before this has resolved. */
  open(platform: Platform, store: ServiceStore<EventIn<Events>>): Promise<OpenService<Deps>>;
}

/** What is particular to a service. */
export interface OpenService<Deps> {
  readonly deps: Deps;
  /** Judges the `workspace:<role>` access of its tools; absent = only operators pass. */
  readonly holdsRole?: HoldsRole;
  readonly jobs?: readonly JobDeclaration[];
  /** Beside those of its store, while none of these fails. */
  checks?(): Promise<readonly Check[]>;
  /** After the last call: finishes and hands over what this process owns. */
  drain?(): Promise<void>;
  close?(): Promise<void>;
}

/**
 * Start: its tables, `open`, relays of events and audit entries, jobs; then `startService` goes on with what others may ask
 * and its tools. The end in reverse, with `drain` before `close`, and the relays last.
 */
export function storeService<Deps, Events extends EventTable>(
  definition: StoreService<Deps, Events>,
): ServiceDefinition<Deps> {
  const { name, tools, serve, events, migrations, open } = definition;
  return {
    name,
    tools,
    ...(serve === undefined ? {} : { serve }),
    async start(platform) {
      const store = await openStore(platform, { service: name, events, migrations });
      const service = await open(platform, store);
      await store.start();
      for (const job of service.jobs ?? []) await platform.jobs.schedule(job);
      const { deps, holdsRole } = service;
      return {
        deps,
        replies: store.replies,
        ...(holdsRole === undefined ? {} : { holdsRole }),
        async checks() {
          const checks = await store.checks();
          const fails = checks.some(({ status }) => status === 'fail');
          return fails ? checks : [...checks, ...((await service.checks?.()) ?? [])];
        },
        drain: async () => service.drain?.(),
        async close() {
          await service.close?.();
          await store.close();
        },
      };
    },
  };
}
