/** This process among those that share the brains: its heartbeat, and what it finds it has lost. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import type { BrainHost } from './brain/brain-host.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import { beat, DEAD_AFTER_MS, HEARTBEAT_EVERY_MS, leave, readOwnedBrains, settle } from './store/ownership.ts';

/** Nobody else is there to count on this process. */
const ALONE_EVERY_MS = 1000;

export interface Membership {
  /** Stops the heartbeat; nobody counts on this process any more. */
  leave(): Promise<void>;
}

/** `directory` tells the data directory from any other. Throws StartProblem when others keep the brains in another one. */
export async function startMembership(host: BrainHost, platform: Platform, directory: string): Promise<Membership> {
  const { log, database, node, config } = platform;
  const everyMs = database.exclusive ? ALONE_EVERY_MS : HEARTBEAT_EVERY_MS;
  const client = poolClient(database.pool);
  await beat(client, host.process, node.nodeId);
  await joinOthers(client, { process: host.process, directory, path: config.SVC_DATA_DIR });
  // On a connection that has fallen silent it would wait for as long as a slow statement may take. One that takes longer
  // than this says nothing to anybody.
  const beatInTime = (): Promise<void> =>
    withPgTransaction(database.pool, (transaction) => beat(transaction, host.process, node.nodeId), {
      timeoutMs: DEAD_AFTER_MS,
    });

  const repeat = (trouble: string, round: () => Promise<void>) =>
    repeated(() => round().catch((error: unknown) => log.warn({ err: error }, trouble)), everyMs);
  const rounds = [
    repeat('no heartbeat: the database is away', beatInTime),
    // Letting go of a brain takes as long as its disk does; a heartbeat must not wait for that.
    repeat('lost brains are still open', () => dropLost(host, client)),
  ];

  return {
    async leave() {
      for (const round of rounds) await round.stop();
      await leave(client, host.process);
    },
  };
}

/** Each would answer that the brains of the others are not there, and who works on one changes all the time. */
async function joinOthers(
  client: SqlClient,
  { process, directory, path }: { readonly process: string; readonly directory: string; readonly path: string },
): Promise<void> {
  const others = await settle(client, process, directory);
  if (others.length === 0) return;
  await leave(client, process);
  throw new StartProblem(
    `SVC_DATA_DIR: ${path} is not the directory in which ${others.join(', ')} keeps the brains of this database: all brain processes share one`,
  );
}

/** Never two at once; `round` does not throw. */
function repeated(round: () => Promise<void>, everyMs: number): { stop(): Promise<void> } {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= round().finally(() => (running = null));
  }, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

/** Brains that somebody took over while this process was paused or cut off. One opened meanwhile is not among them. */
async function dropLost(host: BrainHost, client: SqlClient): Promise<void> {
  const open = host.openBrains();
  if (open.length === 0) return;
  const owned = await readOwnedBrains(client, host.process);
  for (const { context } of open) if (!owned.has(context.name)) await host.lose(context.name);
}
