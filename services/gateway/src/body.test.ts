import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createBodies } from './body.ts';

const MIB = 1024 * 1024;

function sending(headers: IncomingMessage['headers'], first = Buffer.alloc(0)): IncomingMessage & PassThrough {
  const body = Object.assign(new PassThrough({ highWaterMark: 8 * MIB }), { headers });
  body.write(first);
  return body as unknown as IncomingMessage & PassThrough;
}

const CHUNKED = { 'transfer-encoding': 'chunked' };
const DECLARED = { 'content-length': String(4 * MIB) };

test('who only says that much will come keeps the room from nobody', async () => {
  const bodies = createBodies();
  const idle = [CHUNKED, DECLARED].flatMap((headers) =>
    Array.from({ length: 20 }, () => sending(headers, Buffer.alloc(1))),
  );
  const held = idle.map((body, index) => bodies.read(body, `owner ${index % 2}`));
  const large = sending(CHUNKED, Buffer.alloc(3 * MIB, 'x'));
  large.end();
  expect(await bodies.read(large, 'owner 0')).toMatchObject({ bytes: { length: 3 * MIB } });
  for (const body of idle) body.destroy();
  expect(await Promise.all(held)).toEqual(idle.map(() => ({ gone: true })));
});

test('what has come is held for few at once, and given up when no more comes', async () => {
  const bodies = createBodies(500);
  const part = Buffer.alloc(3 * MIB, 'x');
  const stalled = Array.from({ length: 10 }, () => bodies.read(sending(CHUNKED, part), 'one'));
  const eleventh = bodies.read(sending(CHUNKED, part), 'one');
  await expect(eleventh).rejects.toThrow('Too many large bodies');
  await expect(bodies.read(sending(DECLARED), 'one')).rejects.toThrow('Too many large bodies');
  for (const read of stalled) await expect(read).rejects.toThrow('The rest of the body did not come');
  const again = sending(CHUNKED, part);
  again.end();
  expect(await bodies.read(again, 'one')).toMatchObject({ bytes: { length: part.length } });
});
