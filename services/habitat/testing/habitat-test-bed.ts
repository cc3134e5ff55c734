/** The registry in this process, on an embedded database, called over the local bus. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Database } from '@svc/runtime/database.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryClient } from '@svc/runtime/registry.ts';
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import type { HabitatDeps } from '../src/deps.ts';
import { habitatService } from '../src/service.ts';

export interface HabitatNode {
  readonly deps: HabitatDeps;
  /** Asks as whichever service may. */
  readonly registry: RegistryOfAll;
  /** As the operator, unless `over` says otherwise: the tool's result object or refusal. Throws the code of a call error. */
  call(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** The same as the agent of a token, which the registry verifies as it stands now. */
  as(token: string): (tool: string, args?: Fields, over?: Partial<Envelope>) => Promise<Fields>;
  rows<Row = Fields>(sql: string, ...values: unknown[]): Promise<Row[]>;
  /** Names of audit entries, also of those on their way to the chains. */
  audited(key: 'principal' | 'entityId' | 'resource', value: string): Promise<string[]>;
  stop(): Promise<void>;
}

export interface HabitatTestBed extends AsyncDisposable {
  readonly database: Database;
  readonly dataDir: string;
  /** Starts a node on the bed's database; several may run side by side. */
  start(over?: Partial<Platform>): Promise<HabitatNode>;
}

export async function openHabitatTestBed(open: () => Promise<Database> = migratedDatabase): Promise<HabitatTestBed> {
  const database = await open();
  const dataDir = mkdtempSync(join(tmpdir(), 'habitat-node-'));
  return {
    database,
    dataDir,
    start: (over) => startNode(platformOn(database, over, { SVC_DATA_DIR: dataDir })),
    async [Symbol.asyncDispose]() {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function startNode(platform: Platform): Promise<HabitatNode> {
  const service = await startService(platform, habitatService);
  const { bus } = platform;
  const registry = registryOfAll(platform);
  const call: HabitatNode['call'] = async (tool, args = {}, over = {}) => ({
    ...(await callTool(bus, 'habitat', tool, args, over)).fields,
  });
  const rows: HabitatNode['rows'] = (sql, ...values) => service.deps.store.client.$queryRawUnsafe(sql, ...values);
  return {
    deps: service.deps,
    registry,
    call,
    rows,
    as:
      (token) =>
      async (tool, args = {}, over = {}) => {
        const { token: verified } = await registry.subject({ token });
        if (verified === null) throw new Error('UNAUTHORIZED');
        const { subject, limits } = verified;
        const principal = `tok:${subject.agentId ?? ''}`;
        return call(tool, args, { subject, token: limits, operator: false, principal, ...over });
      },
    async audited(key, value) {
      const found = await rows<{ event: string }>(
        `SELECT id, event FROM habitat.audit_outbox WHERE data->>'${key}' = $1
         UNION SELECT id, event FROM habitat.audit_entries WHERE data->>'${key}' = $1 ORDER BY id`,
        value,
      );
      return found.map(({ event }) => event);
    },
    async stop() {
      await service.stop();
      await platform.jobs.close();
      await bus.close();
    },
  };
}

type RegistryOfAll = ReturnType<typeof registryOfAll>;

function registryOfAll(platform: Platform) {
  return {
    ...createOperationClient(platform, HABITAT, 'brain'),
    ...createOperationClient(platform, HABITAT, 'agora'),
    ...createOperationClient(platform, HABITAT, 'escrow'),
    ...createOperationClient(platform, HABITAT, 'market'),
    ...createOperationClient(platform, HABITAT, 'universe'),
    ...createRegistryClient(platform, 'gateway'),
  };
}
