/** Who gets in: keys, tokens, nobody; hosts, origins, addresses. */
import { expect } from 'vitest';
import { type Fields, sendTo } from '../client.ts';
import { KEYED, newName, verifies } from '../verifies.ts';
import { Caller } from '../client.ts';
import { EventSocket } from '../instruments/event-socket.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { ServiceProcess } from '../targets/service-process.ts';
import { API_KEY, logsOf } from '../targets/target.ts';

const PREVIOUS = 'e2e-previous-key-0123456789abcdef';
const DOORS = ['/call', '/mcp/exec'] as const;

verifies(
  [
    'gateway:access:nothing',
    'gateway:access:key',
    'gateway:access:wrong',
    'gateway:access:token',
    'gateway:access:token-beside-key',
    'gateway:sockets:handshake',
  ],
  async ({ gateways }) => {
    const keyed = await gateways(1, { ...KEYED, SVC_API_KEY_PREVIOUS: PREVIOUS });
    const statusOf = async (headers: Record<string, string>, door: (typeof DOORS)[number] = '/call', query = '') => {
      const caller = new Caller(keyed, { key: null, headers });
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'brain_list' } });
      const reply = await caller.send(`${door}${query}`, body);
      if (reply.status === 401) {
        expect(reply.body.error?.code).toBe('UNAUTHORIZED');
        expect(reply.headers['www-authenticate']).toBe('Bearer');
      }
      return reply.status;
    };
    const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
    const token = `svc_${'a'.repeat(43)}`;
    for (const door of DOORS) {
      for (const [headers, status] of [
        [{}, 401],
        [bearer(API_KEY), 200],
        [{ 'x-api-key': API_KEY }, 200],
        [bearer(PREVIOUS), 200],
        [bearer(`${API_KEY}x`), 401],
        [bearer(API_KEY.slice(0, -1)), 401],
        [{ authorization: `Basic ${API_KEY}` }, 401],
        [{ ...bearer(API_KEY), 'x-api-key': 'wrong' }, 401],
        [{ ...bearer('wrong'), 'x-api-key': API_KEY }, 401],
        [bearer(token), 401],
        [{ 'x-habitat-token': token }, 401],
        [{ 'x-habitat-token': 'svc_' }, 401],
        [{ 'x-habitat-token': '' }, 401],
        [{ ...bearer(API_KEY), 'x-habitat-token': token }, 401],
        [{ 'x-api-key': API_KEY, ...bearer(token) }, 401],
      ] as const) {
        expect([door, headers, await statusOf(headers, door)]).toEqual([door, headers, status]);
      }
      expect(await statusOf({}, door, `?api_key=${API_KEY}&token=${API_KEY}&authorization=${API_KEY}`)).toBe(401);
    }
    await handshakes(keyed.gateways[0] ?? '', token);
  },
);

async function handshakes(url: string, token: string): Promise<void> {
  const refusal = async (options: Parameters<typeof EventSocket.connect>[1]) => {
    try {
      const socket = await EventSocket.connect(url, options);
      socket.close();
      return 'connected';
    } catch (error) {
      return (error as { data?: { code?: string } }).data?.code;
    }
  };
  expect(await refusal({ auth: { apiKey: API_KEY } })).toBe('connected');
  expect(await refusal({ headers: { authorization: `Bearer ${API_KEY}` } })).toBe('connected');
  for (const options of [
    {},
    { query: { apiKey: API_KEY, token: API_KEY } },
    { auth: { apiKey: 'wrong' } },
    { auth: { token } },
    { auth: { apiKey: API_KEY, token } },
    { headers: { 'x-habitat-token': token } },
  ]) {
    expect([options, await refusal(options)]).toEqual([options, 'UNAUTHORIZED']);
  }
}

verifies(['gateway:access:keyless', 'gateway:access:token', 'gateway:access:origin'], async ({ gateways, place }) => {
  const keyless = await gateways(1, {});
  const status = async (headers: Record<string, string>) =>
    (await new Caller(keyless, { headers }).call('brain_list')).status;
  expect(await status({})).toBe(200);
  expect(await status({ authorization: 'Bearer whatever' })).toBe(200);
  expect(await status({ 'x-api-key': 'whatever' })).toBe(200);
  expect(await status({ authorization: 'Bearer svc_x' })).toBe(401);
  expect(await status({ 'x-habitat-token': 'svc_x' })).toBe(401);
  await strangersAreShut(keyless.gateways[0] ?? '');
  await startsOnlyOnLoopback(place.root);
});

/** Pages of other origins, and names under which a browser may have been led here. */
async function strangersAreShut(url: string): Promise<void> {
  const post = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'brain_list' } });
    const reply = await sendTo(`${url}/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    return [reply.status, reply.body.error?.code];
  };
  expect(await post({ origin: 'https://evil.example' })).toEqual([403, 'FORBIDDEN']);
  expect(await post({ origin: 'null' })).toEqual([403, 'FORBIDDEN']);
  expect(await post({ host: 'evil.example' })).toEqual([403, 'FORBIDDEN']);
  expect(await post({ host: `evil.example:${new URL(url).port}` })).toEqual([403, 'FORBIDDEN']);
  expect(await post({ origin: `http://localhost:${new URL(url).port}` })).toEqual([200, undefined]);
  expect(await post({ host: `localhost:${new URL(url).port}` })).toEqual([200, undefined]);
}

/** A keyless node told to listen everywhere ends with a sentence. */
async function startsOnlyOnLoopback(root: string): Promise<void> {
  const name = newName('wide');
  const environment: Record<string, string> = {
    SVC_BIND: '0.0.0.0',
    SVC_MCP_PORT: '0',
    SVC_DATA_DIR: `${root}/${name}`,
  };
  const wide = new ServiceProcess({ name, command: ['deploy/embedded.ts'], environment, root, url: null });
  wide.spawn();
  try {
    const code = await wide.ended(20_000);
    expect(code).not.toBe(0);
    expect(wide.tail()).toContain('SVC_API_KEY');
    expect(wide.tail()).not.toMatch(/^\s+at .+:\d+:\d+/m);
  } finally {
    if (wide.isRunning) await wide.kill();
  }
}

verifies('gateway:access:key', async ({ keyed, report }) => {
  const user = new Caller(keyed, { key: API_KEY });
  await user.ok<Fields>('brain_list');
  const said = await waitFor(() => logsOf(keyed) || null, {
    what: 'a log',
  });
  expect(said).not.toContain(API_KEY);
  report('the key is in no log line');
});
