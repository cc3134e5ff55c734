/** Who listens no more is connected no more, whatever the connection was about to do. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from 'socket.io';
import { afterEach, expect, test } from 'vitest';
import { listen } from './events.ts';

const AGAIN_AFTER_MS = 50;
let node: Server | null = null;
afterEach(async () => {
  await node?.close();
  node = null;
});

/** Turns everybody away for a moment. Tells its address, and how often somebody came. */
function startBusyNode(): { url: string; visits: () => number } {
  let visits = 0;
  node = new Server(0);
  node.use((_socket, next) => {
    visits += 1;
    const data = { code: 'SERVICE_UNAVAILABLE', retryAfterMs: AGAIN_AFTER_MS };
    next(Object.assign(new Error('busy'), { data }));
  });
  const { port } = node.httpServer.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, visits: () => visits };
}

test.each(['at once', 'a moment later'])('who stops %s when it was turned away does not come again', async (when) => {
  const { url, visits } = startBusyNode();
  const turnedAway = Promise.withResolvers<undefined>();
  const listening = listen({
    url,
    onEvent: () => {},
    onChannel: () => {
      if (when === 'at once') listening.close();
      turnedAway.resolve(undefined);
    },
  });
  await turnedAway.promise;
  listening.close();
  await listening.ended;
  await sleep(6 * AGAIN_AFTER_MS);
  expect(visits()).toBe(1);
});

test('who goes on listening comes again after the time it was told', async () => {
  const { url, visits } = startBusyNode();
  const stop = new AbortController();
  const { ended } = listen({
    url,
    signal: stop.signal,
    onEvent: () => {},
    onChannel: () => {
      if (visits() === 3) stop.abort();
    },
  });
  await ended;
  expect(visits()).toBe(3);
});
