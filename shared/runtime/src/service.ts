/** Runs one service on a platform: its tools on the bus, its announcements, its checks. */
import { hash } from 'node:crypto';
import { ANNOUNCE_EVERY_MS, type Announcement, type Check, SUBJECTS } from '@svc/contract/discovery.ts';
import { type Tool, toolCard } from '@svc/contract/tool.ts';
import type { Subscription } from './bus.ts';
import { createDispatch, type HoldsRole } from './dispatch.ts';
import type { KeptReplies } from './kept-replies.ts';
import { createGroundReader, joinCommonGround, tellCommonGround } from './common-ground.ts';
import type { Platform, StatelessPlatform } from './platform.ts';

interface ServiceHandle<Deps> {
  readonly deps: Deps;
  /** Judges the `workspace:<role>` access of its tools; absent = only operators pass. */
  readonly holdsRole?: HoldsRole;
  /** Of a service that keeps data. */
  readonly replies?: KeptReplies;
  checks(): Promise<Check[]>;
  /** Called when no new call arrives any more: finish and hand over what this process owns. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** `On` = what the service needs of the place it runs in. */
export interface ServiceDefinition<Deps, On extends StatelessPlatform = Platform> {
  readonly name: string;
  readonly tools: readonly Tool<Deps>[];
  /** Answers the operations that other services ask for; see `serveOperations`. */
  readonly serve?: (platform: On, deps: Deps) => Promise<Subscription>;
  start(platform: On): Promise<ServiceHandle<Deps>>;
}

export interface RunningService<Deps> {
  readonly name: string;
  readonly deps: Deps;
  checks(): Promise<readonly Check[]>;
  /** Stops taking calls, finishes those in flight, tells the others, hands over, closes. */
  stop(): Promise<void>;
}

export interface ServicePlace {
  readonly host?: string;
  readonly port?: number;
}

export async function startService<Deps, On extends StatelessPlatform>(
  platform: On,
  definition: ServiceDefinition<Deps, On>,
  place: ServicePlace = {},
): Promise<RunningService<Deps>> {
  const { bus, node } = platform;
  const { name, tools } = definition;
  await joinCommonGround(platform, name);
  const handle = await definition.start(platform);
  const cards = JSON.stringify(tools.map((tool) => toolCard(name, tool)));
  const queue = { queue: name };
  const { deps, holdsRole, replies } = handle;
  const operations = await definition.serve?.(platform, deps);
  const calls = await bus.respond(
    SUBJECTS.tools(name),
    createDispatch({ tools, deps, platform, holdsRole: holdsRole?.bind(handle), replies }),
    queue,
  );
  const sides: Subscription[] = [
    await bus.respond(SUBJECTS.cards(name), async () => cards, queue),
    await tellCommonGround(platform, name),
    await bus.respond(SUBJECTS.checks(name), async () => JSON.stringify(await handle.checks())),
  ];
  const presence = await startAnnouncing(platform, {
    service: name,
    instance: node.instance,
    nodeId: node.nodeId,
    version: node.version,
    startedAt: node.startedAt,
    ready: true,
    toolsDigest: hash('sha256', cards, 'hex'),
    ...place,
  });

  return {
    name,
    deps,
    checks: () => handle.checks(),
    async stop() {
      await calls.drain();
      await presence.leave();
      await operations?.drain();
      await handle.drain();
      await Promise.all(sides.map((side) => side.drain()));
      await handle.close();
    },
  };
}

/** Tells the gateways that this process is there: now, regularly, when asked, and after each reconnect. */
async function startAnnouncing(
  platform: StatelessPlatform,
  announcement: Announcement,
): Promise<{ leave(): Promise<void> }> {
  const { bus, clock } = platform;
  const readGround = createGroundReader(platform, announcement.service);
  let common = await readGround();
  const announce = (): void => {
    if (bus.connected) bus.publish(SUBJECTS.announce, JSON.stringify({ ...announcement, common, sentAt: clock.now() }));
  };
  // A server that takes long to answer must not let this process seem to be gone.
  const announceAgain = (): void => {
    announce();
    void readGround().then((now) => (common = now));
  };
  const asked = await bus.subscribe(SUBJECTS.who, announce);
  const stopListening = bus.onConnection((connected) => {
    if (connected) announce();
  });
  const timer = setInterval(announceAgain, ANNOUNCE_EVERY_MS);
  announce();
  return {
    async leave() {
      clearInterval(timer);
      stopListening();
      await asked.drain();
      const { service, instance } = announcement;
      if (bus.connected) bus.publish(SUBJECTS.leave, JSON.stringify({ service, instance }));
    },
  };
}
