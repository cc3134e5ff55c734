/** Agora beside the real registry and the real ledger, all on one database and one bus. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { escrowService } from '@svc/escrow/service.ts';
import { habitatService } from '@svc/habitat/service.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { agoraService } from '../src/service.ts';

export interface AgoraBed {
  readonly platform: Platform;
  /** As the operator, or as an agent with a token; `family`: whose spawn it is. */
  call(tool: string, args: Fields, agent?: string, family?: string): Promise<Fields>;
  /** A tool of the registry or the ledger, as the operator. */
  of(service: 'habitat' | 'escrow', tool: string, args: Fields): Promise<Fields>;
  /** Whether whoever acts has to be in the registry; null = as it is by itself. */
  askRegistry(value: boolean | null): Promise<void>;
  /** From here on nobody answers for the ledger of money. */
  stopMoney(): Promise<void>;
  /** From here on nobody answers for the registry. */
  stopRegistry(): Promise<void>;
  stop(): Promise<void>;
}

/** `ids`: those of agora, for what has to be called the same twice. */
export async function openAgoraBed(database: Database, ids?: Ids): Promise<AgoraBed> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agora-'));
  const platform = platformOn(database, {}, { SVC_DATA_DIR: dataDir });
  const habitat = await startService(platform, habitatService);
  const escrow = await startService(platform, escrowService);
  const away = new Set<string>();
  const agora = await startService(ids === undefined ? platform : { ...platform, ids }, agoraService);
  return {
    platform,
    async call(tool, args, agent, family = agent) {
      const subject = { agentId: agent, verified: true, family };
      const token = { subject, operator: false, principal: agent ?? '' } as const;
      const { fields } = await callTool(platform.bus, 'agora', tool, args, agent === undefined ? {} : token);
      return fields;
    },
    of: async (service, tool, args) => (await callTool(platform.bus, service, tool, args)).fields,
    async askRegistry(value) {
      const registry = createOperationClient(platform, HABITAT, 'market');
      const by = { by: 'operator', operator: true, idempotency: null };
      await registry.changeSetting({ key: 'agora.requireRegistry', value, ...by });
    },
    async stopMoney() {
      await escrow.stop();
      away.add('escrow');
    },
    async stopRegistry() {
      await habitat.stop();
      away.add('habitat');
    },
    async stop() {
      await agora.stop();
      if (!away.has('escrow')) await escrow.stop();
      if (!away.has('habitat')) await habitat.stop();
      await platform.jobs.close();
      await platform.bus.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
