import { type EventPage, type EventsAfter, SUBJECTS } from '@svc/contract/discovery.ts';
import type { PositionedEvent } from '@svc/contract/events.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { startEventFeed } from '@svc/runtime/event-feed.ts';
import { createLog } from '@svc/runtime/log.ts';
import { expect, onTestFinished, test } from 'vitest';
import { EventSession } from './event-session.ts';

test('events that a service counts anew after its database was set back are told, also by positions that were told before', async () => {
  const bus = createLocalBus();
  let kept: PositionedEvent[] = [];
  let head = 0;
  const say = (...names: readonly string[]) => {
    const events = names.map((name): PositionedEvent => {
      head += 1;
      return { position: head, event: { id: name, name: 'agora:left', at: 0, node: 'n', payload: { node: name } } };
    });
    kept.push(...events);
    bus.publish(SUBJECTS.events('books'), JSON.stringify({ service: 'books', head, events }));
  };
  await bus.respond(SUBJECTS.eventsAfter('books'), async (payload) => {
    const { position = 0 } = JSON.parse(payload) as EventsAfter & { position?: number };
    return JSON.stringify({ head, events: kept.filter((each) => each.position > position) } satisfies EventPage);
  });
  const heard: string[] = [];
  const sessions: EventSession[] = [];
  const feed = await startEventFeed({
    platform: { bus, clock: systemClock, log: createLog('silent', {}) },
    onLost: () => {},
    onSetBack: (service, position) => sessions.forEach((session) => session.setBack(service, position)),
    async deliver(service, events) {
      for (const session of sessions)
        session.offer(
          service,
          events.map((each) => ({ ...each, policies: [] })),
        );
    },
  });
  onTestFinished(async () => {
    await feed.close();
    await bus.close();
  });
  const source = {
    positions: () => feed.positions(),
    isComplete: () => true,
    page: feed.page.bind(feed),
    judge: async (events: readonly PositionedEvent[]) => events.map((each) => ({ ...each, policies: [] })),
  };
  const sink = {
    send: ({ event }: PositionedEvent) => heard.push(event.id),
    taken: async () => {},
    isOpen: () => true,
    tellGone() {},
  };
  const session = new EventSession(source, sink);
  sessions.push(session);
  session.start();
  say('one', 'two');
  say('three', 'four');
  await expect.poll(() => heard).toEqual(['one', 'two', 'three', 'four']);
  [kept, head] = [kept.slice(0, 1), 1];
  say('other two');
  say('other three');
  await expect.poll(() => heard.slice(4)).toEqual(['other two', 'other three']);
  say('other four', 'five');
  await expect.poll(() => heard.slice(4)).toEqual(['other two', 'other three', 'other four', 'five']);
});
