import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ANSWER_COMMAND, answerShell } from './shell-answer.ts';

test('a node that takes the question and says nothing holds the shell no longer than it is waited for', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const asked = once(silent, 'connection') as Promise<[Socket]>;
  const { port } = silent.address() as AddressInfo;
  const written: string[] = [];
  await answerShell({
    argv: [ANSWER_COMMAND, '--', 'get', 'a'],
    env: { SVC_URL: `http://127.0.0.1:${port}` },
    stdout: { write: (text: string) => written.push(text) > 0 },
  });
  const [socket] = await asked;
  const closed = once(socket.resume(), 'close').then(() => 'closed');
  expect(await Promise.race([closed, sleep(1500, 'open')])).toBe('closed');
  expect(written).toEqual([]);
  silent.close();
});
