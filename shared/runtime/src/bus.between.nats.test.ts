/** The NATS on which deployments meet comes late, and does not take this one for who it is. */
import { connect, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { openMeetingBus } from './bus.between.ts';

const nats = await startNats({ config: 'authorization { users: [{ user: "alpha", password: "pw" }] }' });
afterAll(() => nats?.stop());

/** In front of the server, which counts who comes. */
async function doorAt(port: number, target: string): Promise<{ readonly server: Server; came(): number }> {
  let came = 0;
  const server = createServer((client) => {
    came += 1;
    const { hostname, port: at } = new URL(target);
    const inner = connect(Number(at), hostname);
    for (const socket of [client, inner]) socket.on('error', () => {});
    client.pipe(inner).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { server, came: () => came };
}

test.skipIf(nats === null)('it is asked again now and then, and told of once', async () => {
  const port = await freePort();
  const told: string[] = [];
  const log = pino({}, { write: (line) => void told.push((JSON.parse(line) as { msg: string }).msg) });
  const environment = {
    SVC_NODE_NAME: 'alpha',
    SVC_NODE_BUS_URL: `nats://alpha:retired@127.0.0.1:${port}`,
    SVC_START_WAIT_MS: '1000',
  };
  const meeting = await openMeetingBus(platformOn({ durability: 'process' } as never, { log }, environment));
  await meeting.onReached(async () => {});
  const door = await doorAt(port, nats?.url ?? '');
  await expect.poll(door.came).toBeGreaterThan(0);
  await delay(3000);
  await meeting.close();
  door.server.close();
  expect(door.came()).toBeLessThan(10);
  expect(told.filter((line) => line.includes('refuses the credential'))).toHaveLength(1);
});
