/** This process among those that share the brains: its heartbeat, and what it finds it has lost. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import type { BrainHost } from './brain/brain-host.ts';
import { beat, HEARTBEAT_EVERY_MS, leave, readOwnedBrains } from './store/ownership.ts';

export interface Membership {
  /** Stops the heartbeat; nobody counts on this process any more. */
  leave(): Promise<void>;
}

export async function startMembership(host: BrainHost, platform: Platform): Promise<Membership> {
  const client = poolClient(platform.database.pool);
  const { nodeId } = platform.node;
  await beat(client, host.process, nodeId);
  let beating = Promise.resolve();
  let busy = false;

  async function round(): Promise<void> {
    busy = true;
    try {
      await beat(client, host.process, nodeId);
      await dropLost(host, client);
    } catch (error) {
      platform.log.warn({ err: error }, 'no heartbeat: the database is away');
    } finally {
      busy = false;
    }
  }

  const timer = setInterval(() => {
    if (!busy) beating = round();
  }, HEARTBEAT_EVERY_MS);

  return {
    async leave() {
      clearInterval(timer);
      await beating;
      await leave(client, host.process);
    },
  };
}

/** Brains that somebody took over while this process was paused or cut off. One opened meanwhile is not among them. */
async function dropLost(host: BrainHost, client: SqlClient): Promise<void> {
  const open = await host.openBrains();
  const owned = await readOwnedBrains(client, host.process);
  for (const { context } of open) if (!owned.has(context.name)) await host.lose(context.name);
}
