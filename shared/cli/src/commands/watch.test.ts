import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { watchCommand } from './watch.ts';

it('listens as the agent that is named', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ender = new AbortController();
  type Context = Parameters<typeof watchCommand.run>[0];
  const context = {
    client: { url: `http://127.0.0.1:${port}`, ready: async () => {} },
    terminal: { isSeen: false, note: () => {}, paintNote: (_style: string, text: string) => text },
    surroundings: { env: { SVC_KEY: 'k' } },
    signal: ender.signal,
  } as unknown as Context;
  const arrived = once(server, 'upgrade') as Promise<[IncomingMessage]>;
  const watching = watchCommand.run(context, { args: [[]], options: { agent: 'ada' } });
  const [{ headers }] = await arrived;
  expect(headers).toMatchObject({ 'x-svc-agent': 'ada', authorization: 'Bearer k' });
  ender.abort();
  await expect(watching).rejects.toThrow('aborted');
  server.closeAllConnections();
  server.close();
});
