/** An orderly end: told first, then finished. */
import { expect } from 'vitest';
import { Caller, codeOf, sendTo } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { EventSocket } from '../instruments/event-socket.ts';
import { promised } from '../settings.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

verifies('gateway:drain:order', async ({ gateways }) => {
  const place = await gateways(1, { ...KEYED, SVC_DRAIN_WAIT_MS: '3000' });
  const [gateway] = place.processes;
  const url = place.gateways[0] ?? '';
  if (gateway === undefined) throw new Error('no gateway');
  const user = new Caller(place);
  const brain = newName('b');
  await user.ok('brain_switch', { name: brain, create: true });
  const statusOf = async (path: string) => (await sendTo(`${url}${path}`, { method: 'GET' })).status;
  const socket = await EventSocket.connect(url, { auth: { apiKey: place.key ?? '' } });

  const inFlight = Array.from({ length: 100 }, (_, index) =>
    user.call('brain_write', { brain, name: `f${index}`, content: 'x' }),
  );
  gateway.signal('SIGTERM');
  await waitFor(async () => (await statusOf('/ready')) === 503, { withinMs: promised(1000), what: '/ready to be 503' });
  expect(await statusOf('/health')).toBe(200);
  // Still open: balancers have not noticed yet.
  const late = await user.call('brain_list');
  expect(late.status).toBe(200);
  const replies = await Promise.all(inFlight);
  expect(replies.filter((reply) => codeOf(reply) !== null)).toEqual([]);
  expect(await gateway.ended(), gateway.tail()).toBe(0);
  await waitFor(() => socket.disconnects.length > 0, { what: 'the socket to be closed' });
  await expect(sendTo(`${url}/health`, { method: 'GET' })).rejects.toThrow();
});
