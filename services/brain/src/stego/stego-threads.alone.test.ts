/** What pictures cost that would inflate to far more than they say. */
import { once } from 'node:events';
import { createDeflate } from 'node:zlib';
import { bytesInUse } from '@svc/testing/memory-in-use.ts';
import { pngOf } from '@svc/testing/pictures.ts';
import { expect, test } from 'vitest';
import { createStegoThreads } from './stego-threads.ts';

const MIB = 1024 * 1024;
const PATIENCE_MS = 60_000;

/** As many zeros, deflated a piece at a time. */
async function zeros(bytes: number): Promise<Buffer> {
  const deflate = createDeflate({ level: 9 });
  const parts: Buffer[] = [];
  deflate.on('data', (part: Buffer) => parts.push(part));
  const piece = Buffer.alloc(Math.min(MIB, bytes));
  for (let at = 0; at < bytes; at += piece.length)
    await new Promise<void>((resolve, reject) => deflate.write(piece, (error) => (error ? reject(error) : resolve())));
  deflate.end();
  await once(deflate, 'end');
  return Buffer.concat(parts);
}

test('a picture that inflates to far more than it says is refused, at a bounded cost of memory', async () => {
  await using threads = createStegoThreads();
  const seek = (image: Buffer) => threads.seek({ image, password: null }, PATIENCE_MS);
  const bombs = [
    pngOf({ width: 60_000, height: 60_000, data: await zeros(MIB) }),
    pngOf({ width: 8, height: 8, data: await zeros(256 * MIB) }),
    pngOf({ width: 2800, height: 2800, data: await zeros(256 * MIB) }),
  ];
  // The thread is there, and what it needs for any picture.
  expect(await seek(pngOf({ width: 1, height: 1, data: await zeros(5) }))).toMatchObject({ code: 'E_STEGO_NONE' });
  bytesInUse();
  const before = process.memoryUsage.rss();
  let most = before;
  const looking = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 1);
  for (const bomb of bombs) expect(await seek(bomb)).toMatchObject({ ok: false, code: 'E_IMAGE_LIMIT' });
  clearInterval(looking);
  expect((most - before) / MIB).toBeLessThan(64);
}, 120_000);
