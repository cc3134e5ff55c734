import { createFakeClock } from '@svc/testing/fakes.ts';
import { describeBus } from '@svc/testing/bus.contract.ts';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createLocalBus } from './bus.local.ts';

const log = pino({ level: 'silent' });

describeBus('local', async () => {
  const bus = createLocalBus({ log });
  return { requester: bus, responder: bus };
});

describe('local bus', () => {
  test('deadlines follow the injected clock', async () => {
    const clock = createFakeClock();
    const bus = createLocalBus({ clock });
    await bus.respond('never', () => new Promise(() => {}));
    const call = bus.request('never', '', { deadlineAt: clock.now() + 3_600_000 });
    clock.advance(3_600_000);
    await expect(call).rejects.toMatchObject({ code: 'TIMEOUT' });
  });

  test('takes the members of a queue group in turn', async () => {
    const bus = createLocalBus();
    for (const name of ['a', 'b', 'c']) await bus.respond('turn', async () => name, { queue: 'group' });
    const ask = () => bus.request('turn', '', { deadlineAt: Date.now() + 1000 });
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual(['a', 'b', 'c', 'a']);
  });

  test('tells each bug of a handler, and once that what all of them need is away', async () => {
    const told: { err: { message: string } }[] = [];
    const write = (line: string) => void told.push(JSON.parse(line) as (typeof told)[number]);
    const bus = createLocalBus({ log: pino({}, { write }) });
    await bus.subscribe('told', (payload) => {
      throw Object.assign(new Error(payload), payload === 'bug' ? {} : { code: '28P01' });
    });
    for (const payload of ['bug', 'refused', 'bug', 'refused', 'refused']) bus.publish('told', payload);
    await bus.close();
    expect(told.map(({ err }) => err.message)).toEqual(['bug', 'refused', 'bug']);
  });

  test('stays right when there are more subjects than it remembers', async () => {
    const bus = createLocalBus();
    await bus.respond('s.*', async (_payload, subject) => subject);
    const subjects = Array.from({ length: 10_001 }, (_, index) => `s.${index}`);
    const replies = await Promise.all(
      subjects.map((subject) => bus.request(subject, '', { deadlineAt: Date.now() + 10_000 })),
    );
    expect(replies).toEqual(subjects);
  });
});
