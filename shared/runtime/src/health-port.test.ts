import { createServer } from 'node:http';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type HealthPort, openHealthPort } from './health-port.ts';
import { createMetrics } from './metrics.ts';

const NODE = { nodeId: 'n', instance: 'i', startedAt: 1000, version: '1.2.3' };

function options() {
  return {
    host: '127.0.0.1',
    port: 0,
    metrics: createMetrics(),
    clock: { now: () => 3500 },
    node: NODE,
    log: { error() {} },
  };
}

async function open(over: Partial<ReturnType<typeof options>> = {}): Promise<HealthPort> {
  const health = await openHealthPort({ ...options(), ...over });
  onTestFinished(() => health.close());
  return health;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function ask(
  { port }: HealthPort,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

test('alive at once, ready when nothing fails, not ready when it leaves', async () => {
  const health = await open();
  const { status, text } = await ask(health, '/health');
  expect([status, JSON.parse(text)]).toEqual([200, { status: 'ok', uptime: expect.any(Number), version: '1.2.3' }]);
  expect((await ask(health, '/ready')).status).toBe(503);
  health.serve(async () => [{ name: 'database', status: 'ok' }]);
  const ready = await ask(health, '/ready');
  expect([ready.status, JSON.parse(ready.text)]).toMatchObject([
    200,
    { status: 'ready', checks: [{ name: 'database' }] },
  ]);
  health.serve(async () => [{ name: 'database', status: 'fail' }]);
  expect((await ask(health, '/ready')).text).toContain('"not_ready"');
  health.leave();
  expect((await ask(health, '/ready')).status).toBe(503);
  expect((await ask(health, '/health')).status).toBe(200);
});

test('figures are read when they are asked for, and one that cannot be read spoils no other', async () => {
  const metrics = createMetrics();
  let waiting = 1;
  metrics.gauge('svc_a', 'a', ['service'], (gauge) => gauge.set({ service: 'x' }, waiting));
  metrics.gauge('svc_a', 'a', ['service'], async () => {
    throw new Error('no database');
  });
  metrics.gauge('svc_a', 'a', ['service'], async (gauge) => gauge.set({ service: 'y' }, waiting));
  const health = await open({ metrics });
  waiting = 7;
  expect((await ask(health, '/metrics')).text).toContain('svc_a{service="x"} 7\nsvc_a{service="y"} 7');
});

test('pages in a browser get nothing; what is not there is said', async () => {
  const health = await open();
  expect((await ask(health, '/metrics', { host: 'evil.example' })).status).toBe(403);
  expect((await ask(health, '/metrics', { origin: 'http://localhost' })).status).toBe(403);
  expect((await ask(health, '/metrics', { host: `localhost:${health.port}` })).status).toBe(200);
  expect((await ask(health, '/call')).status).toBe(404);
  expect((await ask(health, '/ready', {}, 'POST')).status).toBe(405);
  expect(await ask(health, '/health', {}, 'HEAD')).toEqual({ status: 200, text: '' });
});

test('a port in use is named by its setting', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await expect(open({ port })).rejects.toThrow(`SVC_HEALTH_PORT: port ${port} of 127.0.0.1 is in use`);
});
