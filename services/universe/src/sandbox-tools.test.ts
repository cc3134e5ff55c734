/** The tools that run and fetch for callers, through the dispatcher, with the real registry and the real sandbox. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UNIVERSE_EVENTS } from '@svc/contract/events.universe.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { habitatService } from '@svc/habitat/service.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { startService } from '@svc/runtime/service.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { afterAll, expect, test } from 'vitest';
import { createCompute } from './compute/compute.ts';
import { computeTools } from './compute/tools.ts';
import { createFetcher, NETWORK_LIMITS } from './network/fetcher.ts';
import { createNetwork, NETWORK_SLOTS } from './network/network.ts';
import { networkTools } from './network/tools.ts';
import { createRegistry } from './registry.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import { sandboxStatus } from './sandbox-status.ts';
import { openShells } from './shell/opening.ts';

const database = await migratedDatabase();
const dataDir = mkdtempSync(join(tmpdir(), 'universe-'));
const platform = platformOn(database, {}, { SVC_DATA_DIR: dataDir });
const habitat = await startService(platform, habitatService);
const settings = createOperationClient(platform, HABITAT, 'market');

const universe = await startService(
  platform,
  storeService<SandboxDeps, typeof UNIVERSE_EVENTS>({
    name: 'universe',
    tools: [...computeTools, ...networkTools, sandboxStatus],
    events: UNIVERSE_EVENTS,
    migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
    async open({ clock }, store) {
      const compute = createCompute(clock);
      const network = createNetwork(clock, createFetcher({ timeMs: 2500 }));
      const { deps: shells } = openShells(platform, store);
      const deps = { compute, network, registry: createRegistry(platform), sandboxStore: store, ...shells };
      return { deps, close: () => compute.close() };
    },
  }),
);

const answers: Record<string, RequestListener> = {};
const origin = createServer((request, response) => answers[request.url ?? '']?.(request, response));
await new Promise<void>((resolve) => {
  origin.listen(0, '127.0.0.1', resolve);
});
const { port } = origin.address() as AddressInfo;
const HERE = `http://127.0.0.1:${port}`;

afterAll(async () => {
  for (const channel of STARTS) unsubscribe(channel, count);
  origin.closeAllConnections();
  origin.close();
  await universe.stop();
  await habitat.stop();
  await database.close();
  rmSync(dataDir, { recursive: true });
});

async function call(tool: string, args: Fields, over: Parameters<typeof callTool>[4] = {}): Promise<Fields> {
  return (await callTool(platform.bus, 'universe', tool, args, over)).fields;
}

async function set(key: string, value: boolean | string[]): Promise<void> {
  await settings.changeSetting({ key, value, by: 'operator', operator: true, idempotency: null });
}

const as = (agentId: string) => ({
  subject: { userId: agentId, agentId, workspace: 'default', verified: true },
  operator: false,
});

const EVALUATES = [
  ['compute_eval', 'language'],
  ['svc_compute_eval', 'lang'],
] as const;
const INVOKES = [
  ['compute_invoke', 'fn'],
  ['svc_compute_invoke', 'func'],
] as const;
const FETCHES = ['svc_network_fetch', 'svc_network_fetchJson'];

/** Threads and processes that were started here. */
let started = 0;
const count = (): void => {
  started += 1;
};
const STARTS = ['worker_threads', 'child_process'];
for (const channel of STARTS) subscribe(channel, count);

test('nothing is on at first, and the answer says what to set', async () => {
  const before = started;
  const off = { ok: false, code: 'E_DISABLED' };
  for (const [tool] of EVALUATES) {
    expect(await call(tool, { code: '1' })).toMatchObject({ ...off, needs: ['compute.enabled'] });
  }
  for (const [tool, named] of INVOKES) expect(await call(tool, { [named]: 'sum', args: [1] })).toMatchObject(off);
  for (const tool of FETCHES) {
    expect(await call(tool, { url: 'http://127.0.0.1/' })).toMatchObject({ ...off, needs: ['network.enabled'] });
  }
  expect(await call('svc_network_online', {})).toMatchObject({ online: false, enabled: false });
  for (const tool of ['compute_status', 'svc_compute_status']) {
    expect(await call(tool, {})).toMatchObject({ enabled: false, ready: false, probe: null, running: 0 });
  }
  expect(started).toBe(before);
});

test('switched on, code is run once the probe was made', async () => {
  const before = started;
  await set('compute.enabled', true);
  for (const [tool, named] of EVALUATES) {
    expect(await call(tool, { code: 'console.log(1); 1 + 1', [named]: 'js' })).toMatchObject({
      language: 'javascript',
      result: 2,
      logs: ['1'],
    });
    expect(await call(tool, { code: '1', [named]: 'python' })).toMatchObject({
      ok: false,
      code: 'E_LANGUAGE',
      languages: ['javascript'],
    });
  }
  for (const [tool, named] of INVOKES) {
    expect(await call(tool, { [named]: 'median', args: [[3, 1, 2]] })).toMatchObject({ [named]: 'median', result: 2 });
    expect(await call(tool, { [named]: '(a, b) => a * b', args: [6, 7] })).toMatchObject({ result: 42 });
    expect(await call(tool, { [named]: 'nothing' })).toMatchObject({ code: 'E_FUNCTION' });
    expect(await call(tool, { [named]: 'mean', args: [] })).toMatchObject({ code: 'E_COMPUTE_ERROR' });
  }
  expect(await call('svc_compute_invoke', { func: 'sum', lang: 'python' })).toMatchObject({ code: 'E_LANGUAGE' });
  expect(await call('compute_status', {})).toMatchObject({ enabled: true, ready: true, probe: { ok: true } });
  expect(await call('compute_list', {})).toMatchObject({ enabled: true, languages: ['javascript'] });
  expect(started).toBeGreaterThan(before);
});

test('what goes wrong in the sandbox has its code', async () => {
  const wrong = {
    E_COMPUTE_ERROR: '(() => { throw new RangeError("x") })()',
    E_COMPUTE_MEMORY: '(() => new ArrayBuffer(2 ** 30))()',
    E_COMPUTE_OUTPUT: '(() => "x".repeat(300000))()',
    E_COMPUTE_TIMEOUT: '(() => { for (;;); })()',
  };
  for (const [code, text] of Object.entries(wrong)) {
    const told = { ok: false, code };
    // What ends by itself does so within the longest time on a busy machine too.
    const timeout = code === 'E_COMPUTE_TIMEOUT' ? 300 : 5000;
    const asked = [
      ...EVALUATES.map(([tool]) => [tool, { code: text, timeout }] as const),
      ...INVOKES.map(([tool, named]) => [tool, { [named]: text.slice(0, -2) }] as const),
    ];
    for (const [tool, args] of asked) expect(await call(tool, args), `${tool} ${code}`).toMatchObject(told);
  }
});

test('a third run of a workspace at once is refused, one of another is not', async () => {
  const loops = [1, 2].map(() => call('compute_eval', { code: 'for (;;);', timeout: 1500 }));
  await expect.poll(async () => (await call('compute_status', {}))['running']).toBe(2);
  for (const [tool] of EVALUATES) await expect(call(tool, { code: '1' })).rejects.toThrow('RATE_LIMITED');
  for (const [tool, named] of INVOKES) {
    await expect(call(tool, { [named]: '() => 1' })).rejects.toThrow('RATE_LIMITED');
  }
  const elsewhere = { subject: { workspace: 'elsewhere' } };
  expect(await call('compute_eval', { code: '1' }, elsewhere)).toMatchObject({ result: 1 });
  for (const loop of loops) expect(await loop).toMatchObject({ code: 'E_COMPUTE_TIMEOUT' });
});

test('a fifth run of a family at once is refused in whatever workspace, one of somebody else is not', async () => {
  const member = await callTool(platform.bus, 'habitat', 'agent_spawn', { name: 'eve', team: 'many' });
  const eve = String(member.fields['agentId']);
  await callTool(platform.bus, 'habitat', 'sudo_grant', { agentId: eve, capability: 'exec' });
  const inWorkspace = (workspace: string) => ({ ...as(eve), subject: { ...as(eve).subject, workspace } });
  const loops = ['w1', 'w1', 'w2', 'w2'].map((workspace) =>
    call('compute_eval', { code: 'for (;;);', timeout: 2500 }, inWorkspace(workspace)),
  );
  await expect.poll(async () => (await call('compute_status', {}))['running']).toBe(4);
  await expect(call('compute_eval', { code: '1' }, inWorkspace('w3'))).rejects.toThrow('RATE_LIMITED');
  expect(await call('compute_eval', { code: '1' })).toMatchObject({ result: 1 });
  for (const loop of loops) expect(await loop).toMatchObject({ code: 'E_COMPUTE_TIMEOUT' });
});

test('an agent needs the scope, for the network that of the host', async () => {
  const member = await callTool(platform.bus, 'habitat', 'agent_spawn', { name: 'ann', team: 'sandbox' });
  const ann = String(member.fields['agentId']);
  const denied = { code: 'FORBIDDEN', message: expect.stringContaining('sudo_grant gave the scope exec') };
  for (const [tool] of EVALUATES)
    await expect(call(tool, { code: '1' }, as(ann))).rejects.toMatchObject({ cause: denied });
  for (const [tool, named] of INVOKES)
    await expect(call(tool, { [named]: 'sum' }, as(ann))).rejects.toThrow('FORBIDDEN');
  for (const tool of FETCHES) await expect(call(tool, { url: `${HERE}/x` }, as(ann))).rejects.toThrow('FORBIDDEN');
  for (const capability of ['exec', 'network:127.0.0.1']) {
    await callTool(platform.bus, 'habitat', 'sudo_grant', { agentId: ann, capability });
  }
  expect(await call('compute_eval', { code: '40 + 2' }, as(ann))).toMatchObject({ result: 42 });
  await set('network.enabled', true);
  await set('network.allow', [`127.0.0.1:${port}`, `localhost:${port}`, 'localhost:2', '127.0.0.1:1']);
  await set('network.allowPrivate', [`127.0.0.1:${port}`, `[::1]:${port}`, '127.0.0.1:1']);
  answers['/x'] = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('here');
  answers['/away'] = (_request, response) => response.writeHead(302, { location: `http://localhost:${port}/x` }).end();
  expect(await call('svc_network_fetch', { url: `${HERE}/x` }, as(ann))).toMatchObject({ ok: true, body: 'here' });
  expect(await call('svc_network_fetch', { url: `${HERE}/away` }, as(ann))).toMatchObject({ code: 'E_HOST_DENIED' });
  expect(await call('svc_network_fetch', { url: `${HERE}/away` })).toMatchObject({ body: 'here', redirects: 1 });
});

test('what is fetched is told as it is, or refused with its code', async () => {
  const [json, text] = [{ 'content-type': 'application/json' }, { 'content-type': 'text/plain' }];
  answers['/json'] = (_request, response) => response.writeHead(201, json).end('{"a":[1]}');
  answers['/round'] = (_request, response) => response.writeHead(302, { location: '/round' }).end();
  answers['/large'] = (_request, response) => response.writeHead(200, json).end('1'.repeat(2 ** 21 + 1));
  answers['/controls'] = (_request, response) => response.writeHead(200, text).end('\x01'.repeat(2 ** 21));
  answers['/numbers'] = (_request, response) => response.writeHead(200, json).end(`[1e20${',1e20'.repeat(400_000)}]`);
  answers['/image'] = (_request, response) => response.writeHead(200, { 'content-type': 'image/png' }).end('x');
  answers['/silent'] = () => {};
  expect(await call('svc_network_fetchJson', { url: `${HERE}/json` })).toEqual({
    ok: true,
    status: 201,
    json: { a: [1] },
    bytes: 9,
    finalUrl: `${HERE}/json`,
  });
  const wrong = {
    E_ADDRESS_DENIED: 'http://localhost:2/',
    E_HOST_DENIED: 'http://example.org/',
    E_REDIRECT: `${HERE}/round`,
    E_TOO_LARGE: `${HERE}/large`,
    E_TYPE: `${HERE}/image`,
    E_TIMEOUT: `${HERE}/silent`,
    E_TLS: `https://127.0.0.1:${port}/`,
    E_UNREACHABLE: 'http://127.0.0.1:1/',
  };
  for (const tool of FETCHES) {
    for (const [code, url] of Object.entries(wrong)) {
      expect(await call(tool, { url }), `${tool} ${code}`).toMatchObject({ ok: false, code });
    }
    for (const url of ['', 'x', 'file:///etc/passwd', 'http://a:b@localhost/']) {
      await expect(call(tool, { url }), url).rejects.toThrow('VAF_INPUT_INVALID');
    }
  }
  expect(await call('svc_network_fetchJson', { url: `${HERE}/x` })).toMatchObject({ code: 'E_NOT_JSON' });
  const tooLarge = { ok: false, code: 'E_TOO_LARGE', limit: NETWORK_LIMITS.toldBytes };
  expect(await call('svc_network_fetch', { url: `${HERE}/controls` })).toMatchObject(tooLarge);
  expect(await call('svc_network_fetchJson', { url: `${HERE}/numbers` })).toMatchObject(tooLarge);
  expect(await call('svc_network_fetch', { url: `${HERE}/numbers` })).toMatchObject({ ok: true, bytes: 2_000_006 });
  expect(await call('svc_network_online', {})).toMatchObject({ online: true, enabled: true });
});

test('as much is fetched at once as a workspace may, and no more', async () => {
  const waiting: (() => void)[] = [];
  answers['/waits'] = (_request, response) => {
    waiting.push(() => void response.writeHead(200, { 'content-type': 'text/plain' }).end('x'));
  };
  const fetches = Array.from({ length: NETWORK_SLOTS.atOnceOfWorkspace }, () =>
    call('svc_network_fetch', { url: `${HERE}/waits` }),
  );
  await expect.poll(() => waiting.length).toBe(fetches.length);
  for (const tool of FETCHES) await expect(call(tool, { url: `${HERE}/x` })).rejects.toThrow('RATE_LIMITED');
  const elsewhere = { subject: { workspace: 'elsewhere' } };
  expect(await call('svc_network_fetch', { url: `${HERE}/x` }, elsewhere)).toMatchObject({ body: 'here' });
  for (const answer of waiting) answer();
  for (const fetched of fetches) expect(await fetched).toMatchObject({ body: 'x' });
});

test('a call that is repeated under its key runs and fetches nothing again, and has the first reply', async () => {
  const counted = async () => (await call('svc_sandbox_status', {}))['counters'];
  let fetches = 0;
  answers['/counted'] = (_request, response) => {
    fetches += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(String(fetches));
  };
  const asked: readonly (readonly [string, Fields, Fields])[] = [
    ...EVALUATES.map(([tool]) => [tool, { code: 'Math.random()' }, { code: '1' }] as const),
    ...INVOKES.map(([tool, named]) => [tool, { [named]: '() => Math.random()' }, { [named]: '() => 1' }] as const),
    ...FETCHES.map((tool) => [tool, { url: `${HERE}/counted` }, { url: `${HERE}/x` }] as const),
  ];
  for (const [tool, args, others] of asked) {
    const over = { idempotencyKey: `of ${tool}` };
    const [first, twin] = await Promise.all([call(tool, args, over), call(tool, args, over)]);
    expect(first, tool).not.toHaveProperty('code');
    expect(twin, tool).toEqual(first);
    const before = [await counted(), fetches];
    expect(await call(tool, args, over), tool).toEqual(first);
    await expect(call(tool, others, over), tool).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
    expect([await counted(), fetches], tool).toEqual(before);
  }
  expect(fetches).toBe(FETCHES.length);
});

test('what was run and fetched is told, with names and never with contents', async () => {
  const { rows } = await database.pool.query<{ name: string; payload: Fields }>(
    'SELECT name, payload FROM universe.outbox',
  );
  const told = (name: string) => rows.filter((row) => row.name === name).map(({ payload }) => payload);
  expect(told('compute:ran')).toContainEqual({ by: 'operator', function: 'median', code: null });
  expect(told('compute:ran')).toContainEqual({ by: 'operator', function: null, code: 'E_COMPUTE_TIMEOUT' });
  expect(told('network:fetched')).toContainEqual({ by: 'operator', host: '127.0.0.1', status: 201, code: null });
  expect(JSON.stringify(rows)).not.toContain('for (;;)');
});
