/** Several deployments in one process: each with its own registry, database and bus, and one bus between them that can fail. */
import { habitatService } from '@svc/habitat/service.ts';
import { type Bus, BusError } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { BETWEEN_DEPLOYMENTS } from '@svc/runtime/bus-subject.ts';
import type { Database } from '@svc/runtime/database.ts';
import { type RunningService, startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgoraDeps } from '../src/deps.ts';
import { createKeyring, type Keyring } from '../src/federation/domain/keyring.ts';
import { identityOf } from '../src/federation/domain/settings.ts';
import { agoraService } from '../src/service.ts';

export const SECRET = 'correct horse battery staple';

/** What the bus between does with a question: carries it, loses it, or loses its answer. */
export type Carried = 'well' | 'question lost' | 'answer lost';

/** What deployments meet on. */
export interface Between {
  readonly bus: Bus;
  carry(how: Carried): void;
  /** Questions wait until the one that this returns is called. */
  hold(): () => void;
  /** Every question, as it was sent, with its subject. */
  readonly said: { subject: string; text: string }[];
}

export function createBetween(): Between {
  const bus = createLocalBus();
  const said: Between['said'] = [];
  let carried: Carried = 'well';
  let held: Promise<void> = Promise.resolve();
  return {
    said,
    carry(how) {
      carried = how;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    bus: {
      ...facade(bus),
      async request(subject, payload, options) {
        said.push({ subject, text: payload });
        await held;
        if (carried === 'question lost') throw new BusError('TIMEOUT', 'lost on purpose');
        const reply = await bus.request(subject, payload, options);
        if (carried === 'answer lost') throw new BusError('TIMEOUT', 'lost on purpose');
        return reply;
      },
    },
  };
}

function facade(bus: Bus): Bus {
  return {
    maxPayloadBytes: bus.maxPayloadBytes,
    connected: true,
    isDeaf: bus.isDeaf,
    sinceGivenUpMs: (repeatable) => bus.sinceGivenUpMs(repeatable),
    request: (subject, payload, options) => bus.request(subject, payload, options),
    publish: (subject, payload) => bus.publish(subject, payload),
    respond: (subject, handler, options) => bus.respond(subject, handler, options),
    subscribe: (subject, handler, options) => bus.subscribe(subject, handler, options),
    onConnection: (listener) => bus.onConnection(listener),
    close: () => bus.close(),
  };
}

/** What is said within a deployment stays there. */
function busOf(between: Bus): Bus {
  const own = createLocalBus();
  const on = (subject: string): Bus => (subject.startsWith(BETWEEN_DEPLOYMENTS) ? between : own);
  return {
    ...facade(own),
    request: (subject, payload, options) => on(subject).request(subject, payload, options),
    publish: (subject, payload) => on(subject).publish(subject, payload),
    respond: (subject, handler, options) => on(subject).respond(subject, handler, options),
    subscribe: (subject, handler, options) => on(subject).subscribe(subject, handler, options),
  };
}

export interface BedNode {
  readonly name: string;
  readonly keyring: Keyring;
  readonly bus: Bus;
  readonly database: Database;
  deps(): AgoraDeps;
  /** As the operator. */
  agora(tool: string, args: Fields): Promise<Fields>;
  habitat(tool: string, args: Fields): Promise<Fields>;
  /** Its clock, ahead of the true one. */
  skew(ms: number): void;
  /** With these settings changed; `undefined` = not set any more. */
  restart(changed?: Readonly<Record<string, string | undefined>>): Promise<void>;
  stop(): Promise<void>;
}

/** `environment` beside the name, the port, the secret and the agent `<name>-agent`; null = that one is not set. */
export async function openNode(
  name: string,
  between: Between,
  environment: Readonly<Record<string, string>> = {},
): Promise<BedNode> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agora-node-'));
  const settings = {
    SVC_NODE_NAME: name,
    SVC_NODE_PORT: '3457',
    SVC_NODE_SECRET: SECRET,
    SVC_NODE_AGENT_ID: `${name}-agent`,
    SVC_DATA_DIR: dataDir,
    ...environment,
  };
  let ahead = 0;
  const clock = { now: () => Date.now() + ahead };
  const database = await migratedDatabase();
  const bus = busOf(between.bus);
  const platform = platformOn(database, { bus, clock }, settings);
  const identity = identityOf(platform.config);
  if (identity === null) throw new Error('a node of the bed has no identity');
  const habitat = await startService(platform, habitatService);
  let agora: RunningService<AgoraDeps> = await startService(platform, agoraService);
  return {
    name,
    keyring: createKeyring(identity),
    bus,
    database,
    deps: () => agora.deps,
    agora: async (tool, args) => (await callTool(bus, 'agora', tool, args)).fields,
    habitat: async (tool, args) => (await callTool(bus, 'habitat', tool, args)).fields,
    skew(ms) {
      ahead = ms;
    },
    async restart(changed = {}) {
      await agora.stop();
      const set = Object.entries({ ...settings, ...changed }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      );
      const { jobs } = platform;
      agora = await startService(platformOn(database, { bus, clock, jobs }, Object.fromEntries(set)), agoraService);
    },
    async stop() {
      await agora.stop();
      await habitat.stop();
      await platform.jobs.close();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Resolves when each of them hears all others. */
export async function untilMet(nodes: readonly BedNode[]): Promise<void> {
  for (const node of nodes) {
    for (;;) {
      const { peers } = (await node.agora('agora_nodes', {})) as {
        peers: { online: boolean; agentId: string | null }[];
      };
      const met = peers.filter(({ online, agentId }) => online && agentId !== null);
      if (met.length >= nodes.length - 1) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** What several deployments that have met stand on. */
export interface NodesBed<Name extends string> {
  readonly between: Between;
  readonly nodes: Readonly<Record<Name, BedNode>>;
  stop(): Promise<void>;
}

/** Deployments of these names that hear each other; `environments`: what some of them have beside that. */
export async function openNodes<Name extends string>(
  names: readonly Name[],
  environments: Partial<Readonly<Record<Name, Readonly<Record<string, string>>>>> = {},
): Promise<NodesBed<Name>> {
  const between = createBetween();
  const opened = await Promise.all(names.map((name) => openNode(name, between, environments[name])));
  await untilMet(opened);
  const nodes = Object.fromEntries(opened.map((node) => [node.name, node])) as Record<Name, BedNode>;
  return {
    between,
    nodes,
    async stop() {
      await Promise.all(opened.map((node) => node.stop()));
    },
  };
}
