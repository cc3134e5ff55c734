/** This process among those that share the brains: its heartbeat, and what it finds it has lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import type { BrainHost } from './brain/brain-host.ts';
import { RepeatedTrouble, troubleOf } from '@svc/runtime/repeated-trouble.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import {
  beat,
  bringBack,
  DEAD_AFTER_MS,
  HEARTBEAT_EVERY_MS,
  leave,
  readOwnedBrains,
  readStrangers,
  settle,
  type Strangers,
} from './store/ownership.ts';

/** Nobody else is there to count on this process. */
const ALONE_EVERY_MS = 1000;

export interface Membership {
  /** Stops the heartbeat; nobody counts on this process any more. */
  leave(): Promise<void>;
}

/** `directory` tells the data directory from any other. Throws StartProblem when others work in another one, or under another name. */
export async function startMembership(host: BrainHost, platform: Platform, directory: string): Promise<Membership> {
  const { log, database, node } = platform;
  const everyMs = database.exclusive ? ALONE_EVERY_MS : HEARTBEAT_EVERY_MS;
  const client = poolClient(database.pool);
  await joinOthers(client, host, platform, directory);
  // On a connection that has fallen silent it would wait for as long as a slow statement may take. One that takes longer
  // than this says nothing to anybody.
  const beatInTime = async (): Promise<void> => {
    const isAhead = await withPgTransaction(
      database.pool,
      (transaction) => beat(transaction, host.process, node.nodeId),
      { timeoutMs: DEAD_AFTER_MS },
    );
    if (isAhead) await bringBack(client);
  };

  const told = new RepeatedTrouble();
  const repeat = (trouble: string, round: () => Promise<void>) =>
    repeated(
      () =>
        round().catch((error: unknown) => {
          if (told.isDue(`${trouble} ${troubleOf(error)}`)) log.warn({ err: error }, trouble);
        }),
      everyMs,
    );
  const rounds = [
    repeat('no heartbeat: the database does not answer', beatInTime),
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

/**
 * Asked before anything is written into the directory, which may be none of ours; `readDirectory` tells it from any other,
 * null while nobody has worked in it. Throws StartProblem when others work in another one, or under another name.
 */
export async function agreeOnPlace(platform: Platform, readDirectory: () => Promise<string | null>): Promise<void> {
  const client = poolClient(platform.database.pool);
  await bringBack(client);
  await untilAgreed(platform, async (deployment) =>
    readStrangers(client, { directory: await readDirectory(), deployment }),
  );
}

/** Others that start at this moment look too, so each looks again when it has said where it is. */
async function joinOthers(client: SqlClient, host: BrainHost, platform: Platform, directory: string): Promise<void> {
  try {
    await untilAgreed(platform, async (deployment) => {
      if (await beat(client, host.process, platform.node.nodeId)) await bringBack(client);
      const place = { directory, deployment };
      await settle(client, host.process, place);
      return readStrangers(client, place);
    });
  } catch (error) {
    await leave(client, host.process);
    throw error;
  }
}

/** Brains would be where nobody finds them: in a directory, or with a process, that others cannot reach. */
async function untilAgreed(
  { clock, config }: Platform,
  look: (deployment: string) => Promise<Strangers>,
): Promise<void> {
  const { SVC_DATA_DIR: path, SVC_NODE_NAME: deployment = '' } = config;
  // One that was killed right before counts as alive for a while.
  const until = clock.now() + DEAD_AFTER_MS + HEARTBEAT_EVERY_MS;
  let { apart, unheard } = await look(deployment);
  while (apart.length + unheard.length > 0 && clock.now() < until) {
    await sleep(HEARTBEAT_EVERY_MS);
    ({ apart, unheard } = await look(deployment));
  }
  if (apart.length + unheard.length === 0) return;
  throw new StartProblem(
    apart.length > 0
      ? `SVC_DATA_DIR: ${path} is not the directory in which the brains of this database are kept by ${apart.join(', ')}: all brain processes share one`
      : `SVC_NODE_NAME: ${unheard.join(', ')}, working on the brains of this database, speaks under another name than ${deployment || 'none'}, so neither would hear the other: all processes have the same`,
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
