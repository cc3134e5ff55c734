/** The universe behind real doors, through which it calls tools in the name of somebody. */
import { startGateway } from '@svc/gateway/service.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Database } from '@svc/runtime/database.ts';
import { startService } from '@svc/runtime/service.ts';
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { vi } from 'vitest';
import { createProbe, type Probe } from './probe.ts';
import { openUniverseBed, type UniverseBed } from './universe-bed.ts';

const QUIET = { SVC_MCP_PORT: '0', SVC_DRAIN_WAIT_MS: '0' };

export interface DoorsBed extends UniverseBed {
  readonly probe: Probe;
  /** As the operator, but for what is said of the call. */
  callAs(over: Partial<Envelope>, tool: string, args: Fields): Promise<Fields>;
}

export async function openDoorsBed(database: Database): Promise<DoorsBed> {
  const bed = await openUniverseBed(database, QUIET);
  const { platform } = bed;
  const probe = createProbe();
  const probing = await startService(platform, probe.service);
  const gateway = await startGateway(platform, { expectedServices: ['habitat', 'universe', 'probe'] });
  await vi.waitUntil(async () => (await gateway.ready()).ready, { timeout: 60_000 });
  return {
    ...bed,
    probe,
    callAs: async (over, tool, args) => (await callTool(platform.bus, 'universe', tool, args, over)).fields,
    async stop() {
      await gateway.drain();
      await gateway.close();
      await probing.stop();
      await bed.stop();
    },
  };
}
