/** What a service needs to run inside a test, and how a test calls its tools: an envelope on the local bus. */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SUBJECTS } from '@svc/contract/discovery.ts';
import { decodeReply, encodeEnvelope, type Envelope } from '@svc/contract/rpc.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { readConfig } from '@svc/runtime/config.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { sawCode } from './seen.ts';

export type Fields = Record<string, unknown>;

export interface ToolAnswer {
  /** The result object, or the refusal inside it. */
  readonly fields: Fields;
  readonly replayed: boolean;
}

const PATIENCE_MS = 60_000;

/** One for all beds without their own, like that of a place where people start a node again and again. */
const DATA_DIRECTORY = join(tmpdir(), 'svc-beds');

let instances = 0;

/** A platform of one process on `database`, silent, with a bus and jobs of its own; `environment` as in the shell. */
export function platformOn(
  database: Database,
  over: Partial<Platform> = {},
  environment: Readonly<Record<string, string>> = {},
): Platform {
  const log = createLog('silent', {});
  instances += 1;
  return {
    kind: 'embedded',
    durability: database.durability,
    config: readConfig({ SVC_DATA_DIR: DATA_DIRECTORY, ...environment }, (path) => readFileSync(path, 'utf8')).config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    random: systemRandom,
    bus: createLocalBus(),
    jobs: createLocalJobs({ log }),
    database,
    links: [],
    shared: ({ memory }) => memory(),
    servers: async () => ({}),
    drainWaitMs: 0,
    node: { nodeId: 'test', instance: `test-${instances}`, startedAt: Date.now(), version: '0' },
    ...over,
  };
}

/** As the operator in `default`, unless `over` says otherwise. Throws an error named by the code of a call error. */
export async function callTool(
  bus: Bus,
  service: string,
  tool: string,
  args: Fields,
  over: Partial<Envelope> = {},
): Promise<ToolAnswer> {
  const envelope: Envelope = {
    tool,
    args,
    subject: { workspace: 'default' },
    operator: true,
    principal: 'local',
    session: 'a'.repeat(64),
    requestId: 'test',
    deadlineAt: Date.now() + PATIENCE_MS,
    door: 'call',
    ...over,
  };
  const { deadlineAt } = envelope;
  const reply = decodeReply(await bus.request(SUBJECTS.tool(service, tool), encodeEnvelope(envelope), { deadlineAt }));
  const code = reply.ok ? reply.refusal : reply.failure.code;
  if (code !== null) sawCode(tool, code);
  if (!reply.ok) throw new Error(reply.failure.code, { cause: reply.failure });
  const result = JSON.parse(reply.body) as Fields;
  const { content } = result;
  const isWrapped = typeof content === 'object' && content !== null;
  return { fields: isWrapped ? (content as Fields) : result, replayed: reply.replayed };
}
