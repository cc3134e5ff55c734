/** The registry in this process, on an embedded database, called over the local bus. */
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
import { createRegistryClient, type RegistryClient } from '@svc/runtime/registry.ts';
import { startService } from '@svc/runtime/service.ts';
import { embeddedDatabase } from '@svc/testing/database.ts';
import type { HabitatDeps } from './deps.ts';
import { habitatService } from './service.ts';

type Fields = Record<string, unknown>;

export interface HabitatNode {
  readonly deps: HabitatDeps;
  readonly registry: RegistryClient;
  /** As the operator, unless `over` says otherwise: the tool's result object or refusal. Throws the code of a call error. */
  call(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** The same as the agent of a token, which the registry verifies as it stands now. */
  as(token: string): (tool: string, args?: Fields, over?: Partial<Envelope>) => Promise<Fields>;
  stop(): Promise<void>;
}

export interface HabitatTestBed extends AsyncDisposable {
  readonly database: Database;
  readonly dataDir: string;
  /** Starts a node on the bed's database; several may run side by side. */
  start(over?: Partial<Platform>): Promise<HabitatNode>;
}

export async function openHabitatTestBed(open: () => Promise<Database> = embeddedDatabase): Promise<HabitatTestBed> {
  const database = await open();
  const dataDir = mkdtempSync(join(tmpdir(), 'habitat-node-'));
  return {
    database,
    dataDir,
    start: (over = {}) => startNode({ ...platformOn(database, dataDir), ...over }),
    async [Symbol.asyncDispose]() {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

let instances = 0;

async function startNode(platform: Platform): Promise<HabitatNode> {
  const service = await startService(platform, habitatService);
  const { bus } = platform;
  const registry = createRegistryClient(platform);
  const call: HabitatNode['call'] = (tool, args = {}, over = {}) => callTool(bus, tool, args, over);
  return {
    deps: service.deps,
    registry,
    call,
    as:
      (token) =>
      async (tool, args = {}, over = {}) => {
        const { token: verified } = await registry.ask('subject', { token });
        if (verified === null) throw new Error('UNAUTHORIZED');
        const { subject, limits } = verified;
        const principal = `tok:${subject.agentId ?? ''}`;
        return call(tool, args, { subject, token: limits, operator: false, principal, ...over });
      },
    async stop() {
      await service.stop();
      await platform.jobs.close();
      await bus.close();
    },
  };
}

function platformOn(database: Database, dataDir: string): Platform {
  const log = createLog('silent', {});
  instances += 1;
  return {
    kind: 'embedded',
    durability: database.durability,
    config: readConfig({ SVC_DATA_DIR: dataDir }, () => '').config,
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

const SESSION = '0'.repeat(64);
const PATIENCE_MS = 20_000;

async function callTool(bus: Bus, tool: string, args: Fields, over: Partial<Envelope>): Promise<Fields> {
  const envelope: Envelope = {
    tool,
    args,
    subject: { workspace: 'default' },
    operator: true,
    principal: 'local',
    session: SESSION,
    requestId: 'test',
    deadlineAt: Date.now() + PATIENCE_MS,
    door: 'call',
    ...over,
  };
  const frame = await bus.request(SUBJECTS.tool('habitat', tool), JSON.stringify(envelope), {
    deadlineAt: envelope.deadlineAt,
  });
  const reply = decodeReply(frame);
  if (!reply.ok) throw new Error(reply.failure.code, { cause: reply.failure });
  const result = JSON.parse(reply.body) as Fields;
  const { content } = result;
  return typeof content === 'object' && content !== null ? { ...content } : result;
}
