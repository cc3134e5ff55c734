import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { HttpExchange } from '../http-exchange.ts';
import type { Calling } from '../tool-call.ts';
import { createOpenStream, type Stream } from './event-stream.ts';

let counted = 0;
const metrics = { streams: (change: number) => void (counted += change) };
const openStream = createOpenStream({ writer: { headersFor: () => [] }, metrics, limits: { all: 1, each: 1 } });

const open = (request: IncomingMessage, response: ServerResponse): Stream => {
  const exchange = new HttpExchange(request, response, 'r1', '127.0.0.1');
  return openStream({ exchange, visit: { identity: { bucket: 'b' } } } as Calling);
};

async function served(serve: RequestListener): Promise<string> {
  const server = createServer(serve);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('whoever left while its rights were looked up gets no stream, and none is counted', async () => {
  const outcome = Promise.withResolvers<unknown>();
  const away = new AbortController();
  const url = await served((request, response) => {
    response.once('close', () => {
      try {
        outcome.resolve(open(request, response));
      } catch (error) {
        outcome.resolve(error);
      }
    });
    away.abort();
  });
  await expect(fetch(url, { signal: away.signal })).rejects.toThrow();
  expect(await outcome.promise).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(counted).toBe(0);
});

/** More than the buffers of the system take. */
const LARGE = 'x'.repeat(32 * 1024 * 1024);

test('a stream that has ended is let go of, also when its client reads nothing', async () => {
  const url = await served((request, response) => {
    const stream = open(request, response);
    stream.send({ LARGE });
    stream.end();
  });
  const [response] = (await once(get(url), 'response')) as [IncomingMessage];
  expect(counted).toBe(1);
  await expect.poll(() => counted, { timeout: 20_000 }).toBe(0);
  await expect(once(response.resume(), 'end')).rejects.toThrow('aborted');
});
