/** What callers run and fetch, on a real node. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { verifies } from '../verifies.ts';
import { expect } from 'vitest';

verifies('sandbox:compute', async ({ place, caller, socket }) => {
  const operator = caller();
  await operator.ok('svc_config_set', { key: 'compute.enabled', value: true });
  expect(await operator.ok('compute_status')).toMatchObject({ enabled: true, ready: true, probe: { ok: true } });
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
});

verifies('sandbox:network', async ({ place, caller, socket }) => {
  const operator = caller();
  const gateway = new URL(place.gateways[0] ?? '');
  let connects = 0;
  const forbidden = createServer((connection) => {
    connects += 1;
    connection.destroy();
  });
  await new Promise<void>((listening) => {
    forbidden.listen(0, '127.0.0.1', listening);
  });
  try {
    const { port } = forbidden.address() as AddressInfo;
    const hosts = ['127.0.0.1', 'localhost', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[::1]', '0.0.0.0'];
    const allow = [gateway.host, ...hosts.map((host) => `${host}:${port}`)];
    await operator.ok('svc_config_set', { key: 'network.enabled', value: true });
    await operator.ok('svc_config_set', { key: 'network.allow', value: allow });
    await operator.ok('svc_config_set', { key: 'network.allowPrivate', value: [gateway.host] });
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
  } finally {
    forbidden.close();
    for (const key of ['network.enabled', 'network.allow', 'network.allowPrivate']) {
      await operator.ok('svc_config_set', { key, value: null });
    }
  }
});
