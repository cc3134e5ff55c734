import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { UsageProblem } from '../problems.ts';
import { watchCommand } from './watch.ts';

type Context = Parameters<typeof watchCommand.run>[0];

it('listens as the agent that is named', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ender = new AbortController();
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

it.each(['nonsense', '', 'evt_long-ago', 'tok_0192f0c1a2b37c3d8e4f5a6b7c8d9e0f'])(
  'refuses "%s" to begin after, which never was the id of an event, before it asks the node',
  async (after) => {
    const context = { client: { ready: () => Promise.reject(new Error('asked')) } } as unknown as Context;
    await expect(watchCommand.run(context, { args: [[]], options: { after } })).rejects.toThrow(UsageProblem);
  },
);

it('begins after the id of an event', async () => {
  const context = { client: { ready: () => Promise.reject(new Error('asked')) } } as unknown as Context;
  const after = 'evt_0192f0c1a2b37c3d8e4f5a6b7c8d9e0f';
  await expect(watchCommand.run(context, { args: [[]], options: { after } })).rejects.toThrow('asked');
});
