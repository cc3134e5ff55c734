import { createLifecycle } from '@svc/runtime/lifecycle.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { linkChecks } from '@svc/runtime/checks.ts';
import { createLog } from '@svc/runtime/log.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, expect, test } from 'vitest';
import { connectCluster } from './platform.cluster.ts';
import { createProcessContext } from './process-context.ts';

const MIB = 1024 * 1024;
const redis = await startRedis();
afterAll(() => redis?.stop());

test.for([
  [8 * MIB, 'ok'],
  [MIB, 'degraded'],
] as const)('NATS with a max_payload of %i is %s', async ([maxPayload, status]) => {
  const nats = await startNats({ maxPayload });
  if (nats === null || redis === null) return;
  const read = readConfig({ NATS_URL: nats.url, REDIS_URL: redis.url }, String);
  const said: string[] = [];
  const context = await createProcessContext(read, 'gateway');
  const log = createLog('warn', {}, { write: (line: string) => void said.push(line) });
  const lifecycle = createLifecycle(log);
  const platform = await connectCluster({ ...context, log }, lifecycle, 'gateway');
  expect(linkChecks(platform)).toContainEqual({ name: 'nats', status });
  expect(said.filter((line) => line.includes('max_payload')).length).toBe(status === 'ok' ? 0 : 1);
  await lifecycle.shutdown('test');
  await nats.stop();
});
