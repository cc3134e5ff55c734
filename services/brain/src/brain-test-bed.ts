/** The brain service in this process, on an embedded database and a real data directory, called over the local bus. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SUBJECTS } from '@svc/contract/discovery.ts';
import { decodeReply, type Envelope } from '@svc/contract/rpc.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { readConfig } from '@svc/runtime/config.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { embeddedDatabase } from '@svc/testing/database.ts';
import type { OpenBrain } from './brain/open-brain.ts';
import { createTestRegistry, type TestRegistry } from './registry-test-bed.ts';
import { brainService } from './service.ts';

type Content = Record<string, unknown>;

export interface BrainNode {
  /** What the node says and hears. */
  readonly bus: Bus;
  readonly dataDir: string;
  /** The tool's result object or refusal. Throws the code of a call error. */
  call(tool: string, args: Content, over?: Partial<Envelope>): Promise<Content>;
  openBrains(): Promise<OpenBrain[]>;
  stop(): Promise<void>;
}

export interface BrainTestBed extends AsyncDisposable {
  readonly dataDir: string;
  /** Whom the brain asks for policies. */
  readonly registry: TestRegistry;
  /** Starts a node on the directory and database of the bed; one at a time. */
  start(environment?: Record<string, string>): Promise<BrainNode>;
}

export async function openBrainTestBed(): Promise<BrainTestBed> {
  const dataDir = mkdtempSync(join(tmpdir(), 'brain-node-'));
  const database = await embeddedDatabase();
  const registry = createTestRegistry();
  return {
    dataDir,
    registry,
    async start(environment = {}) {
      const platform = platformOn(dataDir, database, environment);
      await registry.answerOn(platform.bus);
      return startNode(dataDir, platform, registry);
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

let instances = 0;

async function startNode(dataDir: string, platform: Platform, registry: TestRegistry): Promise<BrainNode> {
  const service = await startService(platform, brainService);
  return {
    dataDir,
    bus: platform.bus,
    call: (tool, args, over = {}) => callTool(platform.bus, tool, args, { registry: registry.stamp(), ...over }),
    openBrains: () => service.deps.host.openBrains(),
    async stop() {
      await service.stop();
      await platform.jobs.close();
      await platform.bus.close();
    },
  };
}

function platformOn(dataDir: string, database: Database, environment: Record<string, string>): Platform {
  const log = createLog('silent', {});
  instances += 1;
  return {
    kind: 'embedded',
    durability: database.durability,
    config: readConfig({ SVC_DATA_DIR: dataDir, ...environment }, () => '').config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    random: systemRandom,
    bus: createLocalBus(),
    jobs: createLocalJobs({ log }),
    database,
    redis: null,
    node: { nodeId: 'test', instance: `test-${instances}`, startedAt: Date.now(), version: '0' },
  };
}

async function callTool(bus: Bus, tool: string, args: Content, over: Partial<Envelope>): Promise<Content> {
  const envelope: Envelope = {
    tool,
    args,
    subject: {},
    operator: true,
    principal: 'local',
    session: 'a'.repeat(64),
    requestId: 'r',
    deadlineAt: Date.now() + 20_000,
    door: 'call',
    ...over,
  };
  const reply = decodeReply(await bus.request(SUBJECTS.tool('brain', tool), JSON.stringify(envelope), envelope));
  if (!reply.ok) throw new Error(reply.failure.code);
  const result = JSON.parse(reply.body) as Content;
  const { content } = result;
  return content !== null && typeof content === 'object' ? (content as Content) : result;
}
