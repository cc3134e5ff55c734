import { BRAIN_EVENTS } from '@svc/contract/events.brain.ts';
import { type EventBatch, type EventPage, SUBJECTS } from '@svc/contract/discovery.ts';
import { readConfig } from '@svc/runtime/config.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { answerPage } from '@svc/runtime/event-log.ts';
import { createOutbox, type NewEvent } from '@svc/runtime/outbox.ts';
import { createLog } from '@svc/runtime/log.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestBed, type StoreTestBed } from '../../testing/store-test-bed.ts';

let bed: StoreTestBed;
beforeEach(async () => {
  bed = await openTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

const saved = (files: number): NewEvent => ({
  name: 'brain:save',
  payload: { brain: 'b', branch: 'main', commit: 'c', files, by: 'me', resources: ['brain:b'] },
});

function replica(bus = createLocalBus(), exclusive = false, client: SqlClient = bed.client) {
  const platform = {
    bus,
    clock: systemClock,
    config: readConfig({}, () => '').config,
    ids: createIds(systemClock, systemRandom),
    log: createLog('silent', {}),
    node: { nodeId: 'n', instance: 'i', startedAt: 0, version: '1' },
  };
  const outbox = createOutbox({
    events: BRAIN_EVENTS,
    service: 'brain',
    schema: 'brain',
    client,
    exclusive,
    transact: bed.transact,
    platform,
  });
  return { bus, outbox };
}

const counts = (batches: EventBatch[]) =>
  batches.flatMap(({ events }) => events.map(({ event }) => (event.payload as { files: number }).files));

describe('the outbox', () => {
  it('publishes what was committed, in the order it was written, each once and numbered without a gap', async () => {
    const { bus, outbox } = replica();
    const batches: EventBatch[] = [];
    await bus.subscribe(SUBJECTS.allEvents, (payload) => batches.push(JSON.parse(payload) as EventBatch));
    await outbox.start();
    for (let files = 0; files < 1200; files += 100) {
      await bed.transact((transaction) =>
        outbox.write(
          transaction,
          Array.from({ length: 100 }, (_, index) => saved(files + index)),
        ),
      );
      outbox.kick();
    }
    const rolledBack = bed.transact(async (transaction) => {
      await outbox.write(transaction, [saved(-1)]);
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await outbox.close();
    await bus.close(); // delivers what was published
    expect(counts(batches)).toEqual(Array.from({ length: 1200 }, (_, index) => index));
    const positions = batches.flatMap(({ events }) => events.map(({ position }) => position));
    expect(positions).toEqual(Array.from({ length: 1200 }, (_, index) => index + 1));
  });

  it('gives two relays one numbering, and what a dead one left to the other', async () => {
    const first = replica();
    const second = replica(first.bus);
    const batches: EventBatch[] = [];
    await first.bus.subscribe(SUBJECTS.allEvents, (payload) => batches.push(JSON.parse(payload) as EventBatch));
    const writes = Array.from({ length: 60 }, async (_, index) => {
      const { outbox } = index % 2 === 0 ? first : second;
      await bed.transact((transaction) => outbox.write(transaction, [saved(index)]));
      if (index % 3 !== 0) outbox.kick(); // every third writer dies before it relays
    });
    await Promise.all(writes);
    await Promise.all([first.outbox.flush(), second.outbox.flush()]);
    await first.bus.close(); // delivers what was published
    const positions = batches.flatMap(({ events }) => events.map(({ position }) => position)).sort((a, b) => a - b);
    expect(positions).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    expect(counts(batches).sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });

  it('tells where it is when a numbering that nobody answered was made, so that others ask for what they missed', async () => {
    let isLost = false;
    const client = {
      ...bed.client,
      async $queryRawUnsafe(sql: string, ...values: unknown[]) {
        const rows = await bed.client.$queryRawUnsafe(sql, ...values);
        if (isLost && sql.includes('UPDATE')) throw new Error('lost');
        return rows;
      },
    } as SqlClient;
    const { bus, outbox } = replica(createLocalBus(), true, client);
    const heads: number[] = [];
    await bus.subscribe(SUBJECTS.allEvents, (payload) => heads.push((JSON.parse(payload) as EventBatch).head));
    await outbox.start();
    await bed.transact((transaction) => outbox.write(transaction, [saved(1)]));
    await outbox.flush();
    isLost = true;
    await bed.transact((transaction) => outbox.write(transaction, [saved(2)]));
    await outbox.flush();
    await expect.poll(() => heads.at(-1)).toBe(2);
    await outbox.close();
  });

  const asking =
    (bus: Bus) =>
    async (request: object): Promise<EventPage> =>
      JSON.parse(
        await bus.request(SUBJECTS.eventsAfter('brain'), JSON.stringify(request), { deadlineAt: Date.now() + 5000 }),
      ) as EventPage;
  const pageOf = async (client: SqlClient, request: object) =>
    JSON.parse(await answerPage({ client, schema: 'brain', keptDays: 7 }, JSON.stringify(request))) as EventPage;
  const eventsOf = (page: EventPage) => ('events' in page ? page.events : []);

  it.each([1, 2, 3])('says of no event that came behind statement %i of a page that it was told', async (last) => {
    const { outbox } = replica();
    await outbox.start();
    const write = async (files: number) => {
      await bed.transact((transaction) => outbox.write(transaction, [saved(files)]));
      await outbox.flush();
    };
    await write(1);
    const [known] = await pageOf(bed.client, { position: 0, limit: 1 }).then(eventsOf);
    let statement = 0;
    const meanwhile = async (sql: string, ...values: unknown[]) => {
      const rows = await bed.client.$queryRawUnsafe(sql, ...values);
      statement += 1;
      if (statement === last) await write(2);
      return rows;
    };
    const client = { ...bed.client, $queryRawUnsafe: meanwhile } as SqlClient;
    const page = await pageOf(client, { id: known?.event.id, limit: 1 });
    const [next] = eventsOf(page);
    const goesOnBehind = next === undefined ? 'head' in page && page.head : next.position - 1;
    expect(goesOnBehind).toBe(known?.position);
  });

  it('answers what came after a position or an event, and says when that is gone', async () => {
    const { bus, outbox } = replica();
    await outbox.start();
    const rows = [[1, 2, 3], [4], [5, 6]];
    for (const files of rows) await bed.transact((transaction) => outbox.write(transaction, files.map(saved)));
    await outbox.flush();
    const ask = asking(bus);
    const all = eventsOf(await ask({ position: 0, limit: 100 }));
    expect(all.map(({ event, position }) => [position, (event.payload as { files: number }).files])).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => [n, n]),
    );
    for (const [index, { event }] of all.entries()) {
      expect(await ask({ id: event.id, limit: 100 })).toEqual({ head: 6, events: all.slice(index + 1) });
      expect(await ask({ position: index, limit: 2 })).toEqual({ head: 6, events: all.slice(index, index + 2) });
    }
    const [first, , third, fourth] = all.map(({ event: { id } }) => id);
    await bed.pool.query("UPDATE brain.event_batches SET at = now() - interval '8 days' WHERE first_id = $1", [first]);
    expect(await outbox.sweep()).toBe(1);
    for (const id of [first, third, 'evt_1', `evt_${'0'.repeat(32)}`])
      expect(await ask({ id, limit: 10 })).toEqual({ gone: true });
    expect(eventsOf(await ask({ id: fourth, limit: 10 })).map(({ position }) => position)).toEqual([5, 6]);
    await outbox.close();
  });

  it('answers what may have come after an event of another service, by the time in its id', async () => {
    const { bus, outbox } = replica();
    await outbox.start();
    for (const files of [[1, 2], [3], [4]]) {
      await bed.transact((transaction) => outbox.write(transaction, files.map(saved)));
    }
    await outbox.flush();
    const ask = asking(bus);
    const all = eventsOf(await ask({ position: 0, limit: 100 }));
    const idAt = (ms: number) => `evt_${ms.toString(16).padStart(12, '0')}${'7'.repeat(20)}`;
    const firstAt = Number.parseInt(all[0]?.event.id.slice(4, 16) ?? '', 16);
    const [daysAgo, longAgo] = [firstAt - 86_400_000, firstAt - 8 * 86_400_000];
    // Whoever had an event just before or after these may have missed them; whoever had a much later one has not.
    for (const at of [firstAt - 1000, firstAt + 10_000]) {
      expect(await ask({ since: idAt(at), limit: 10 })).toEqual({ head: 4, events: all });
    }
    expect(await ask({ since: idAt(firstAt + 60_000), limit: 10 })).toEqual({ head: 4, events: [] });
    expect(await ask({ since: idAt(longAgo), limit: 10 })).toEqual({ head: 4, events: all });
    expect(await ask({ since: 'evt_1', limit: 10 })).toEqual({ gone: true });
    await bed.pool.query("UPDATE brain.event_batches SET at = now() - interval '9 days' WHERE count = 2");
    expect(await outbox.sweep()).toBe(1);
    expect(eventsOf(await ask({ since: idAt(daysAgo), limit: 10 }))).toEqual(all.slice(2));
    expect(await ask({ since: idAt(longAgo), limit: 10 })).toEqual({ gone: true });
    // As after a sweep that left only so many.
    await bed.pool.query('UPDATE brain.outbox_head SET head = 1000002');
    expect(await ask({ since: idAt(daysAgo), limit: 10 })).toEqual({ gone: true });
    await outbox.close();
  });

  it('sends and pages large events in messages that the bus carries', async () => {
    const { bus, outbox } = replica();
    const sizes: number[] = [];
    const heard: EventBatch[] = [];
    await bus.subscribe(SUBJECTS.allEvents, (payload) => {
      sizes.push(payload.length);
      heard.push(JSON.parse(payload) as EventBatch);
    });
    await outbox.start();
    const large = (n: number): NewEvent => ({
      name: 'brain:save',
      payload: { brain: 'b', branch: 'main', commit: 'c', files: n, by: 'x'.repeat(15_000), resources: ['brain:b'] },
    });
    const events = Array.from({ length: 150 }, (_, n) => large(n));
    await bed.transact((transaction) => outbox.write(transaction, events));
    await outbox.flush();
    const positions: number[] = [];
    while (positions.length < events.length) {
      const page = await asking(bus)({ position: positions.length, limit: 500 });
      sizes.push(JSON.stringify(page).length);
      positions.push(...eventsOf(page).map(({ position }) => position));
    }
    expect(positions).toEqual(events.map((_, index) => index + 1));
    await outbox.close();
    await bus.close();
    expect(counts(heard)).toEqual(events.map((_, n) => n));
    expect(Math.max(...sizes)).toBeLessThan(1024 * 1024);
  });

  it('refuses a payload that does not fit its event', async () => {
    const { outbox } = replica();
    const wrong = { name: 'brain:save', payload: { brain: 'b' } } as unknown as NewEvent;
    await expect(bed.transact((transaction) => outbox.write(transaction, [wrong]))).rejects.toThrow();
  });
});
