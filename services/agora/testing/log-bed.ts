/** Agora beside a service that tells things and a registry in memory; several agora processes may run on one database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Envelope } from '@svc/contract/rpc.ts';
import { EVENTS } from '@svc/contract/events.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import type { NewEvent, Outbox } from '@svc/runtime/outbox.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { startService } from '@svc/runtime/service.ts';
import { openStore } from '@svc/runtime/store.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { FakeRegistry } from '@svc/testing/registry.fake.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { agoraService } from '../src/service.ts';

/** The service that tells things. */
const TOLD = 'told';

export interface Teller {
  readonly outbox: Outbox;
  /** All in one transaction. */
  tell(...events: NewEvent[]): Promise<void>;
  close(): Promise<void>;
}

export interface AgoraProcess {
  stop(): Promise<void>;
}

export interface LogBed {
  readonly registry: FakeRegistry;
  readonly dataDir: string;
  teller(): Promise<Teller>;
  /** One more agora process. */
  start(over?: Partial<Platform>): Promise<AgoraProcess>;
  /** A tool as the operator, unless `over` says otherwise. */
  call(tool: string, args?: Fields, over?: Partial<Envelope>): Promise<Fields>;
  /** The same as the holder of a token. */
  as(token: string): Promise<Partial<Envelope>>;
  rows<Row = Fields>(sql: string, ...values: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openLogBed(): Promise<LogBed> {
  const database = await migratedDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'agora-'));
  const bus = createLocalBus();
  // As on a cluster: nobody knows that there is no other process.
  const shared = { ...database, exclusive: false };
  const platform = (over: Partial<Platform> = {}) => platformOn(shared, { bus, ...over }, { SVC_DATA_DIR: dataDir });
  const own = platform();
  const registry = new FakeRegistry({ container: 'public' });
  await registry.serveOn(own);
  const { subject } = createOperationClient(own, HABITAT, 'gateway');
  const client = poolClient(database.pool);
  return {
    registry,
    dataDir,
    async teller() {
      const store = await openStore(own, { service: TOLD, events: EVENTS, migrations: dataDir });
      await store.outbox.start();
      return {
        outbox: store.outbox,
        async tell(...events) {
          await store.transact((tx) => store.outbox.write(tx, events));
          store.outbox.kick();
        },
        close: () => store.close(),
      };
    },
    start: (over) => startService(platform(over), agoraService),
    call: async (tool, args = {}, over = {}) => (await callTool(bus, 'agora', tool, args, over)).fields,
    async as(raw) {
      const { token, stamp } = await subject({ token: raw });
      if (token === null) throw new Error('the token is not valid');
      return {
        operator: false,
        subject: { ...token.subject, verified: true },
        token: token.limits,
        registry: stamp,
        principal: `tok:${token.subject.agentId}`,
      };
    },
    rows: (sql, ...values) => client.$queryRawUnsafe(sql, ...values),
    async close() {
      await own.jobs.close();
      await bus.close();
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
