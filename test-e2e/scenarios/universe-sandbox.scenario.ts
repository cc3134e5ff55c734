/** What callers run and fetch, on a real node. */
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createListener } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { withSettings } from '../instruments/node-settings.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

const COMPUTE_ON = { 'compute.enabled': true };

verifies('sandbox:compute-off', async ({ caller }) => {
  const operator = caller();
  const calls: readonly (readonly [string, Fields])[] = [
    ['compute_eval', { code: '1' }],
    ['compute_invoke', { fn: 'sum', args: [1] }],
    ['svc_compute_eval', { code: '1' }],
    ['svc_compute_invoke', { func: 'sum', args: [1] }],
  ];
  for (const [tool, args] of calls) {
    expect(await operator.refused('E_DISABLED', tool, args)).toMatchObject({ needs: ['compute.enabled'] });
  }
  expect(await operator.ok('compute_status')).toMatchObject({ enabled: false, ready: false, running: 0 });
});

verifies('sandbox:compute', (scenario) => withSettings(scenario.caller(), COMPUTE_ON, () => computeSafely(scenario)));

async function computeSafely({ place, caller, socket }: Scenario): Promise<void> {
  const operator = caller();
  const status = await operator.ok<{ readonly probe: { readonly checks: readonly Fields[] } }>('compute_status');
  expect(status.probe.checks.filter(({ ok }) => ok !== true)).toEqual([]);
  expect(status).toMatchObject({ enabled: true, ready: true, probe: { ok: true } });
  const ann = memberAt(await createMembers(place, 'viewer'), 0);
  await ann.caller.fails('FORBIDDEN', 'compute_eval', { code: '1' });
  await operator.ok('sudo_grant', { agentId: ann.id, capability: 'exec' });
  const ears = await socket({ gateway: 1 });
  const value = async (code: string) => (await ann.caller.ok('compute_eval', { code }))['result'];
  expect(await value('1+1')).toBe(2);
  expect(await value('typeof process + typeof fetch')).toBe('undefinedundefined');
  expect(await value('globalThis.kept = 1; Object.prototype.kept = 1; kept')).toBe(1);
  expect(await value('typeof kept + {}.kept')).toBe('undefinedundefined');
  const loop = ann.caller.refused('E_COMPUTE_TIMEOUT', 'compute_eval', { code: 'while(true){}' });
  expect(await operator.ok('compute_invoke', { fn: 'sum', args: [1, 2] })).toMatchObject({ result: 3 });
  await loop;
  await ann.caller.refused('E_COMPUTE_MEMORY', 'compute_eval', { code: 'new ArrayBuffer(2 ** 30)' });
  await ann.caller.refused('E_LANGUAGE', 'compute_eval', { code: '1', language: 'python' });
  const heard = () => ears.heard.filter(({ name, ...event }) => name === 'compute:ran' && event['by'] === ann.id);
  await waitFor(() => heard().some(({ code }) => code === 'E_COMPUTE_MEMORY'), { what: 'the events of runs' });
  expect(JSON.stringify(heard())).not.toContain('while(true)');
}

const isOver = ({ status }: Fields): boolean => status !== 'running' && status !== 'skipped';

verifies('cron:skipped', async ({ caller }) => {
  const operator = caller();
  const at = { id: newName('job') };
  const runs = async (): Promise<readonly Fields[]> => {
    const { history } = await operator.ok<{ readonly history: readonly Fields[] }>('cron_list', at);
    return history.toSorted((one, other) => Number(one['tick']) - Number(other['tick']));
  };
  await withSettings(operator, COMPUTE_ON, async () => {
    const task = { tool: 'compute_eval', arguments: { code: 'while(true){}', timeout: 3000 } };
    await operator.ok('cron_schedule', { ...at, interval: 1000, task });
    await waitFor(async () => (await runs()).filter(isOver).length >= 2, { what: 'the second run' });
  });
  const told = await runs();
  await operator.ok('cron_cancel', at);
  const [first = -1, second = -1] = told.flatMap((run, index) => (isOver(run) ? [index] : []));
  expect(told[first]).toMatchObject({ status: 'failed', code: 'E_COMPUTE_TIMEOUT' });
  const between = told.slice(first + 1, second).map(({ status }) => status);
  expect(between.length).toBeGreaterThanOrEqual(2);
  expect(new Set(between)).toEqual(new Set(['skipped']));
});

verifies('sandbox:network', async ({ place, caller, socket }) => {
  const operator = caller();
  const gateway = new URL(place.gateways[0] ?? '');
  let connects = 0;
  const forbidden = createListener((connection) => {
    connects += 1;
    connection.destroy();
  });
  await new Promise<void>((listening) => {
    forbidden.listen(0, '127.0.0.1', listening);
  });
  const { port } = forbidden.address() as AddressInfo;
  const hosts = ['127.0.0.1', 'localhost', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[::1]', '0.0.0.0'];
  const settings = {
    'network.enabled': true,
    'network.allow': [gateway.host, ...hosts.map((host) => `${host}:${port}`)],
    'network.allowPrivate': [gateway.host],
  };
  await withSettings(operator, settings, async () => {
    const ears = await socket({ gateway: 1 });
    for (const host of [...hosts, '2130706433', '127.1', '0x7f.1']) {
      await operator.refused('E_ADDRESS_DENIED', 'svc_network_fetch', { url: `http://${host}:${port}/` });
    }
    await operator.refused('E_HOST_DENIED', 'svc_network_fetch', { url: 'http://169.254.169.254/' });
    expect(connects).toBe(0);
    const health = { url: `${gateway.origin}/health` };
    expect(await operator.ok('svc_network_fetchJson', health)).toMatchObject({ ok: true, status: 200 });
    expect(await operator.ok('svc_network_online')).toMatchObject({ enabled: true, online: true });
    const heard = () => ears.heard.filter(({ name }) => name === 'network:fetched');
    await waitFor(() => heard().some(({ status }) => status === 200), { what: 'the event of a fetch' });
  }).finally(() => forbidden.close());
});

const BOMB_BYTES = 10 * 1024 * 1024;
const DRIP_MS = 500;

/** A site that means ill, or nothing. */
const SITE: Readonly<Record<string, RequestListener>> = {
  '/bomb'(_request, response) {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
    response.end(gzipSync(Buffer.alloc(BOMB_BYTES)));
  },
  '/drip'(_request, response) {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const drip = setInterval(() => response.write('.'), DRIP_MS);
    response.on('close', () => clearInterval(drip));
  },
  '/text'(_request, response) {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('no JSON');
  },
};

verifies('sandbox:network-bodies', async ({ caller }) => {
  const operator = caller();
  const site = createServer((request, response) => SITE[request.url ?? '']?.(request, response));
  await new Promise<void>((listening) => {
    site.listen(0, '127.0.0.1', listening);
  });
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  const settings = { 'network.enabled': true, 'network.allow': [host], 'network.allowPrivate': [host] };
  const at = (path: string) => ({ url: `http://${host}${path}` });
  await withSettings(operator, settings, async () => {
    const drip = operator.refused('E_TIMEOUT', 'svc_network_fetch', at('/drip'));
    await operator.refused('E_TOO_LARGE', 'svc_network_fetch', at('/bomb'));
    await operator.refused('E_NOT_JSON', 'svc_network_fetchJson', at('/text'));
    expect(await operator.ok('svc_network_fetch', at('/text'))).toMatchObject({ status: 200, body: 'no JSON' });
    await drip;
  }).finally(() => {
    site.closeAllConnections();
    site.close();
  });
});
