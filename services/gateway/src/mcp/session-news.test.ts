/** What gateways tell each other of sessions, over a bus that goes away and comes back. */
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { expect, test } from 'vitest';
import { createTestPlatform } from '../../testing/platform.ts';
import { startSessionNews } from './session-news.ts';

/** A gateway's own way to a bus that others stay on. */
function linkTo(bus: Bus) {
  let isUp = true;
  let told: (connected: boolean) => void = () => {};
  const link: Bus = Object.assign(Object.create(bus) as Bus, {
    publish(subject: string, payload: string) {
      if (!isUp) throw new Error('no connection');
      bus.publish(subject, payload);
    },
    subscribe: (subject: string, handler: (payload: string, subject: string) => void) =>
      bus.subscribe(subject, (payload, actual) => isUp && handler(payload, actual)),
    onConnection(listener: (connected: boolean) => void) {
      told = listener;
      return () => {};
    },
  });
  const turn = (up: boolean): void => {
    isUp = up;
    told(up);
  };
  return { link, turn };
}

async function gatewayOn(bus: Bus, session: string) {
  const { link, turn } = linkTo(bus);
  const news = await startSessionNews({ ...createTestPlatform(), bus: link });
  let looks = 0;
  news.onChanged(session, () => (looks += 1));
  return { news, turn, looks: () => looks };
}

test('who follows a session looks again when the bus is back, because it did not hear what was told meanwhile', async () => {
  const bus = createLocalBus();
  const [one, other] = [await gatewayOn(bus, 'mine'), await gatewayOn(bus, 'mine')];
  other.turn(false);
  one.news.changed('mine');
  expect(other.looks()).toBe(0);
  other.turn(true);
  expect(other.looks()).toBe(1);
});

test('a change that could not be told is told when the bus is back, once', async () => {
  const bus = createLocalBus();
  const [one, other] = [await gatewayOn(bus, 'mine'), await gatewayOn(bus, 'mine')];
  one.turn(false);
  one.news.changed('mine');
  one.news.changed('mine');
  one.turn(true);
  await expect.poll(other.looks).toBe(1);
  one.turn(true);
  one.news.changed('other');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(other.looks()).toBe(1);
});
