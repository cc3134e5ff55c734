/** The universe beside the real registry, ledger and brain, all on one database and one bus. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brainService } from '@svc/brain/service.ts';
import { escrowService } from '@svc/escrow/service.ts';
import { habitatService } from '@svc/habitat/service.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields, platformOn, type ToolAnswer } from '@svc/testing/service-bed.ts';
import { universeService } from '../src/service.ts';

type Neighbour = 'habitat' | 'escrow' | 'brain';
const NEIGHBOURS = {
  habitat: (platform: Platform) => startService(platform, habitatService),
  escrow: (platform: Platform) => startService(platform, escrowService),
  brain: (platform: Platform) => startService(platform, brainService),
};

interface WorldsBed extends AsyncDisposable {
  readonly platform: Platform;
  readonly dataDir: string;
  /** As the operator, unless `over` says otherwise. */
  call(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  answer(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<ToolAnswer>;
  /** A tool of a neighbour, as the operator or as `over` says. */
  of(service: Neighbour, tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** While it works, the neighbour is not there. */
  without<Value>(service: Neighbour, work: () => Promise<Value>): Promise<Value>;
  /** What is done every half minute. */
  reconcile(): Promise<void>;
  /** A start after an end, whatever that was. */
  restart(): Promise<void>;
}

/** Over the envelope: an agent with a token, with the role of an editor in `default`. */
export function agent(agentId: string, over: Partial<Envelope> = {}): Partial<Envelope> {
  return {
    subject: { agentId, verified: true, workspace: 'default', roles: ['editor'] },
    operator: false,
    principal: `tok:${agentId}`,
    session: hash('sha256', agentId),
    ...over,
  };
}

export async function openWorldsBed(
  environment: Record<string, string> = {},
  over: Partial<Platform> = {},
): Promise<WorldsBed> {
  const database = await migratedDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'worlds-'));
  const platform = platformOn(database, over, { SVC_DATA_DIR: dataDir, ...environment });
  const running = new Map<Neighbour, { stop(): Promise<void> }>();
  const start = async (name: Neighbour): Promise<void> => {
    running.set(name, await NEIGHBOURS[name](platform));
  };
  for (const name of ['habitat', 'escrow', 'brain'] as const) await start(name);
  let universe = await startService(platform, universeService);
  const answer: WorldsBed['answer'] = (tool, args = {}, call = {}) =>
    callTool(platform.bus, 'universe', tool, args, call);
  return {
    platform,
    dataDir,
    answer,
    call: async (tool, args, call) => (await answer(tool, args, call)).fields,
    of: async (service, tool, args = {}, call = {}) => (await callTool(platform.bus, service, tool, args, call)).fields,
    async without(name, work) {
      await running.get(name)?.stop();
      try {
        return await work();
      } finally {
        await start(name);
      }
    },
    reconcile: () => universe.deps.worlds.restores.reconcile(),
    async restart() {
      await universe.stop();
      universe = await startService(platform, universeService);
    },
    async [Symbol.asyncDispose]() {
      await universe.stop();
      for (const service of [...running.values()].reverse()) await service.stop();
      await platform.jobs.close();
      await platform.bus.close();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
