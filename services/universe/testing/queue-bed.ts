/** The stores of queues on a database of their own, without doors. */
import { join } from 'node:path';
import { UNIVERSE_EVENTS } from '@svc/contract/events.universe.ts';
import type { Database } from '@svc/runtime/database.ts';
import { openStore } from '@svc/runtime/store.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { DEFAULT_OPTIONS } from '../src/streams/domain/stream.ts';
import { createStreamStore } from '../src/streams/stream-store.ts';
import { createWorkStore } from '../src/streams/work-store.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');
const WORKSPACE = 'default';
const PATIENCE_MS = 60_000;
const HAND = { name: 'worker', operator: false, tokenHash: null };
const SIGHT = { sees: () => true, manages: () => false };

export interface QueueBed {
  put(stream: string, task: unknown): Promise<void>;
  /** The id of what was taken; null = nothing was there. */
  take(stream: string, ttlMs: number): Promise<string | null>;
  complete(id: string, result: unknown): Promise<void>;
  /** As `put` under a key of the call; `how` = what else is particular to it. */
  putOnce(stream: string, task: unknown, key: string, how?: { readonly argsHash?: string }): PutOutcome;
  close(): Promise<void>;
}

type PutOutcome = ReturnType<ReturnType<typeof createStreamStore>['enqueue']>;

export async function openQueueBed(database: Database): Promise<QueueBed> {
  const platform = platformOn(database);
  const store = await openStore(platform, { service: 'universe', events: UNIVERSE_EVENTS, migrations: MIGRATIONS });
  await store.start();
  const streams = createStreamStore(store, platform);
  const work = createWorkStore(store, platform.clock, () => {});
  const call = () => ({
    caller: { subject: {}, operator: true, deadlineAt: Date.now() + PATIENCE_MS },
    idempotency: null,
  });
  const wishOf = (stream: string) => ({
    workspace: WORKSPACE,
    stream,
    by: 'bench',
    family: null,
    implicit: true,
    options: DEFAULT_OPTIONS,
  });
  return {
    putOnce(stream, task, key, { argsHash = 'same' } = {}) {
      const idempotency = { principal: 'bench', tool: 'stream_enqueue', key, argsHash };
      return streams.enqueue({ ...call(), idempotency }, wishOf(stream), { key: null, task, delayMs: 0 });
    },
    async put(stream, task) {
      const { decision } = await streams.enqueue(call(), wishOf(stream), { key: null, task, delayMs: 0 });
      if (!decision.ok) throw new Error(decision.code);
    },
    async take(stream, ttlMs) {
      const taking = { hand: HAND, tokenHash: platform.ids.next('t'), ttlMs };
      const { decision } = await work.poll(call(), { workspace: WORKSPACE, stream }, taking);
      if (!decision.ok) throw new Error(decision.code);
      return decision.value.work?.id ?? null;
    },
    async complete(id, result) {
      const { decision } = await work.complete(call(), id, SIGHT, { hand: HAND, result });
      if (!decision.ok) throw new Error(decision.code);
    },
    async close() {
      await platform.jobs.close();
      await store.close();
      await platform.bus.close();
    },
  };
}
