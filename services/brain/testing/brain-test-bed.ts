/** The brain service in this process, on an embedded database and a real data directory, called over the local bus. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { FakeRegistry } from '@svc/testing/registry.fake.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import type { OpenBrain } from '../src/brain/open-brain.ts';
import { brainService } from '../src/service.ts';

export interface BrainNode {
  /** What the node says and hears. */
  readonly bus: Bus;
  readonly dataDir: string;
  /** The tool's result object or refusal. Throws the code of a call error. */
  call(tool: string, args: Fields, over?: Partial<Envelope>): Promise<Fields>;
  openBrains(): OpenBrain[];
  stop(): Promise<void>;
}

/** Somebody who calls tools, with a session of its own. */
export interface TestCaller {
  ok(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** The code of a refusal or call error, with everything beside it. */
  no(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
}

/** Without a subject, the operator. */
export function testCaller(nodeNow: () => BrainNode, subject: Subject | null): TestCaller {
  const session = hash('sha256', JSON.stringify(subject), 'hex');
  const own = subject === null ? { session } : { session, subject, operator: false };
  return {
    ok: (tool, args = {}, over = {}) => nodeNow().call(tool, args, { ...own, ...over }),
    async no(tool, args = {}, over = {}) {
      const answer = await nodeNow()
        .call(tool, args, { ...own, ...over })
        .catch((error: Error) => ({ code: error.message }));
      if (!('code' in answer)) throw new Error(`${tool} ${JSON.stringify(args)} succeeded`);
      return answer;
    },
  };
}

export interface BrainTestBed extends AsyncDisposable {
  readonly database: Database;
  readonly dataDir: string;
  /** Whom the brain asks for policies. */
  readonly registry: FakeRegistry;
  /** Starts a node on the directory and database of the bed; one at a time. It ends with the bed at the latest. */
  start(environment?: Record<string, string>, over?: Partial<Platform>): Promise<BrainNode>;
}

/** Its policies are open, and in no container, where a test does not say otherwise. */
export function createRegistry(): FakeRegistry {
  return new FakeRegistry({ writableBy: [], readableBy: [], container: 'public' });
}

/** On an embedded database, unless another one is opened. */
export async function openBrainTestBed(open: () => Promise<Database> = migratedDatabase): Promise<BrainTestBed> {
  const dataDir = mkdtempSync(join(tmpdir(), 'brain-node-'));
  const database = await open();
  const registry = createRegistry();
  const running = new Set<BrainNode>();
  return {
    dataDir,
    database,
    registry,
    async start(environment = {}, over = {}) {
      const platform = platformOn(database, over, { SVC_DATA_DIR: dataDir, ...environment });
      await registry.serveOn(platform);
      const node = await startNode(dataDir, platform, registry);
      running.add(node);
      const stop = (): Promise<void> => {
        running.delete(node);
        return node.stop();
      };
      return { ...node, stop };
    },
    async [Symbol.asyncDispose]() {
      for (const node of running) await node.stop();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export async function startNode(dataDir: string, platform: Platform, registry: FakeRegistry): Promise<BrainNode> {
  const service = await startService(platform, brainService);
  return {
    dataDir,
    bus: platform.bus,
    call: (tool, args, over = {}) => callBrain(platform.bus, tool, args, { registry: registry.stamp(), ...over }),
    openBrains: () => service.deps.host.openBrains(),
    async stop() {
      await service.stop();
      await platform.jobs.close();
      await platform.bus.close();
    },
  };
}

async function callBrain(bus: Bus, tool: string, args: Fields, over: Partial<Envelope>): Promise<Fields> {
  const { fields } = await callTool(bus, 'brain', tool, args, { subject: {}, ...over });
  return fields;
}
