import { type EventBatch, type EventPage, SUBJECTS } from '@svc/contract/discovery.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { createOutbox, type NewEvent } from '@svc/runtime/outbox.ts';
import { createLog } from '@svc/runtime/log.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestBed, type StoreTestBed } from './store-test-bed.ts';

let bed: StoreTestBed;
beforeEach(async () => {
  bed = await openTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

const saved = (files: number): NewEvent => ({
  name: 'brain:save',
  payload: { brain: 'b', branch: 'main', commit: 'c', files, by: 'me', resources: ['brain:b'] },
});

function replica(bus = createLocalBus()) {
  const platform = {
    bus,
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log: createLog('silent', {}),
    node: { nodeId: 'n', instance: 'i', startedAt: 0, version: '1' },
  };
  const outbox = createOutbox({
    service: 'brain',
    schema: 'brain',
    client: bed.client,
    exclusive: false,
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

  it('answers what came after a position or an event, and says when that is gone', async () => {
    const { bus, outbox } = replica();
    await outbox.start();
    await bed.transact((transaction) => outbox.write(transaction, [saved(1), saved(2), saved(3)]));
    await outbox.flush();
    const ask = async (request: object): Promise<EventPage> =>
      JSON.parse(
        await bus.request(SUBJECTS.eventsAfter('brain'), JSON.stringify(request), { deadlineAt: Date.now() + 5000 }),
      ) as EventPage;
    const page = await ask({ position: 1, limit: 1 });
    expect(page).toMatchObject({
      head: 3,
      events: [{ position: 2, event: { name: 'brain:save', payload: { files: 2 } } }],
    });
    const id = 'events' in page ? (page.events[0]?.event.id ?? '') : '';
    expect(await ask({ id, limit: 10 })).toMatchObject({ events: [{ position: 3 }] });
    await bed.pool.query("UPDATE brain.outbox SET at = now() - interval '8 days' WHERE id = $1", [id]);
    expect(await outbox.sweep()).toBe(1);
    expect(await ask({ id, limit: 10 })).toEqual({ gone: true });
    await outbox.close();
  });

  it('refuses a payload that does not fit its event', async () => {
    const { outbox } = replica();
    const wrong = { name: 'brain:save', payload: { brain: 'b' } } as unknown as NewEvent;
    await expect(bed.transact((transaction) => outbox.write(transaction, [wrong]))).rejects.toThrow();
  });
});
