/** The universe beside the real registry, on one database and one bus. */
import { habitatService } from '@svc/habitat/service.ts';
import type { Database } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { universeService } from '../src/service.ts';

export interface UniverseBed {
  readonly platform: Platform;
  /** As the operator, or as an agent with a token. */
  call(tool: string, args: Fields, agent?: string): Promise<Fields>;
  /** A tool of the registry, as the operator. */
  registry(tool: string, args: Fields): Promise<Fields>;
  /** Gives the agent a role in `default`. */
  enrol(agent: string, role: string): Promise<void>;
  stop(): Promise<void>;
}

export async function openUniverseBed(
  database: Database,
  environment: Readonly<Record<string, string>> = {},
): Promise<UniverseBed> {
  const platform = platformOn(database, {}, environment);
  const habitat = await startService(platform, habitatService);
  const universe = await startService(platform, universeService);
  const registry = async (tool: string, args: Fields) => (await callTool(platform.bus, 'habitat', tool, args)).fields;
  return {
    platform,
    registry,
    async call(tool, args, agent) {
      const token = { subject: { agentId: agent, verified: true }, operator: false, principal: agent ?? '' } as const;
      const { fields } = await callTool(platform.bus, 'universe', tool, args, agent === undefined ? {} : token);
      return fields;
    },
    async enrol(agent, role) {
      await registry('svc_habitat_addRole', { workspaceId: 'default', userId: agent, role });
    },
    async stop() {
      for (const service of [universe, habitat]) await service.stop();
      await platform.jobs.close();
      await platform.bus.close();
    },
  };
}
