import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { HttpExchange } from '../http-exchange.ts';
import type { Calling } from '../tool-call.ts';
import { createOpenStream } from './event-stream.ts';

test('whoever left while its rights were looked up gets no stream, and none is counted', async () => {
  let counted = 0;
  const metrics = { streams: (change: number) => void (counted += change) };
  const open = createOpenStream({ writer: { headersFor: () => [] }, metrics, limits: { all: 1, each: 1 } });
  const outcome = Promise.withResolvers<unknown>();
  const away = new AbortController();
  const server = createServer((request, response) => {
    response.once('close', () => {
      const exchange = new HttpExchange(request, response, 'r1', '127.0.0.1');
      try {
        outcome.resolve(open({ exchange, visit: { identity: { bucket: 'b' } } } as Calling));
      } catch (error) {
        outcome.resolve(error);
      }
    });
    away.abort();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(fetch(url, { signal: away.signal })).rejects.toThrow();
  expect(await outcome.promise).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(counted).toBe(0);
  server.close();
});
