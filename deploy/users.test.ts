import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { COUNTED, countUsers, type Users } from './users.ts';

const LINGER_MS = 600;

async function counting(usedAt = async () => 0) {
  const seen = { deserted: 0 };
  const users = await countUsers({ lingerMs: LINGER_MS, usedAt, onDeserted: () => (seen.deserted += 1) });
  onTestFinished(() => users.close());
  return { users, seen };
}

async function user({ address }: Users, secret = address.secret): Promise<{ socket: Socket; said: string }> {
  const socket = connect(address.port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`${secret}\n`);
  const said = await new Promise<string>((resolve) => {
    socket.setEncoding('utf8').once('data', resolve);
    socket.once('close', () => resolve(''));
  });
  return { socket, said };
}

test('a node is deserted a while after its last user, once', async () => {
  const { users, seen } = await counting();
  const [first, second] = [await user(users), await user(users)];
  expect([first.said, second.said]).toEqual([COUNTED, COUNTED]);
  first.socket.destroy();
  await sleep(LINGER_MS * 3);
  expect(seen.deserted).toBe(0);
  const leftAt = performance.now();
  second.socket.destroy();
  await expect.poll(() => seen.deserted).toBe(1);
  expect(performance.now() - leftAt).toBeGreaterThanOrEqual(LINGER_MS);
  expect((await user(users)).said).toBe('');
  await sleep(LINGER_MS);
  expect(seen.deserted).toBe(1);
});

test('a caller at the doors keeps it, too', async () => {
  let isUsed = true;
  const { seen } = await counting(async () => (isUsed ? performance.now() : 0));
  await sleep(LINGER_MS * 3);
  expect(seen.deserted).toBe(0);
  isUsed = false;
  await expect.poll(() => seen.deserted).toBe(1);
});

test('who does not know the secret does not count', async () => {
  const { users, seen } = await counting();
  expect((await user(users, 'f'.repeat(32))).said).toBe('');
  expect((await user(users, 'short')).said).toBe('');
  await expect.poll(() => seen.deserted).toBe(1);
});
