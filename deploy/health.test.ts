/** Every role tells how it is at a port of its own, and measures the same things. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startOwnPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { ROLES } from './services.ts';
import { folder, type Started, start } from './testing/started-process.ts';

const READY_WITHIN_MS = 120_000;
const EVERY_ROLE = ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'svc_event_loop_delay_seconds'];
const WITH_STORE = ['svc_database_pool', 'svc_relay_lag_seconds', 'svc_relay_waiting', 'svc_job_runs_total'];
const OWN: Readonly<Record<string, readonly string[]>> = {
  gateway: ['svc_calls_total', 'svc_sockets'],
  brain: [
    'svc_index_bytes',
    'svc_index_pending',
    'svc_writes_waiting',
    'svc_brains_open',
    'svc_vectors_bytes',
    'svc_vectors_pending',
  ],
};

const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startOwnPostgres()]);
afterAll(() => Promise.all([nats, redis, postgres].map(async (server) => server?.stop())));

/** Exit code of the health check of the containers. */
async function probe(port: number, path: string): Promise<number> {
  const script = join(import.meta.dirname, 'probe.sh');
  return promisify(execFile)(script, [String(port), path]).then(
    () => 0,
    (error: { code: number }) => error.code,
  );
}

async function untilProbed(port: number, path: string, code: number, { ended }: Started): Promise<void> {
  const giveUp = sleep(READY_WITHIN_MS, 'late', { ref: false });
  while ((await probe(port, path)) !== code) {
    const end = await Promise.race([giveUp, ended, sleep(100)]);
    if (end !== undefined) throw new Error(`the probe of ${path} does not answer ${code}: ${JSON.stringify(end)}`);
  }
}

interface RunningRole {
  readonly roles: readonly string[];
  readonly port: number;
  readonly process: Started;
}

async function assertMeasured({ roles, port, process }: RunningRole): Promise<void> {
  await untilProbed(port, '/ready', 0, process);
  expect(await probe(port, '/health')).toBe(0);
  expect(await probe(port, '/nothing')).toBe(1);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  for (const role of roles) {
    expect(text).toContain(`svc_process_info{role="${role}",version=`);
    for (const name of [...EVERY_ROLE, ...(role === 'gateway' ? [] : WITH_STORE), ...(OWN[role] ?? [])])
      expect(text, role).toContain(`# TYPE ${name} `);
    if (role !== 'gateway')
      expect(text).toMatch(new RegExp(`^svc_relay_lag_seconds\\{service="${role}",relay="events"\\} [\\d.]+$`, 'm'));
  }
  expect(text).toContain('svc_connected{server="redis"} 1');
  if (roles.includes('brain')) expect(text).toMatch(/^svc_writes_waiting 0$/m);
}

async function everyProbe(roles: readonly RunningRole[], path: string, code: number): Promise<void> {
  for (const { port, process } of roles) await untilProbed(port, path, code, process);
}

describe.skipIf(nats === null || redis === null || postgres === null)('a process of a cluster', () => {
  const common = {
    NATS_URL: nats?.url ?? '',
    REDIS_URL: redis?.url ?? '',
    DATABASE_URL: postgres?.url ?? '',
    SVC_API_KEY: 'operator-key-0123456789',
    SVC_MCP_PORT: '0',
    SVC_BIND: '127.0.0.1',
    SVC_DRAIN_WAIT_MS: '0',
    SVC_LOG_LEVEL: 'silent',
    SVC_START_WAIT_MS: '20000',
  };

  test('each role, and all of them in one process, is ready, measured, and not ready without what it needs', async () => {
    const dataDir = folder();
    const roles = await Promise.all(
      [...ROLES.map((role) => [role]), ROLES].map(async (together) => {
        const port = await freePort();
        const environment = { ...common, SVC_DATA_DIR: dataDir, SVC_HEALTH_PORT: String(port) };
        return { roles: together, port, process: start(['node.ts', ...together], environment) };
      }),
    );
    for (const running of roles) await assertMeasured(running);
    await postgres?.control?.kill();
    await everyProbe(roles, '/ready', 1);
    await everyProbe(roles, '/health', 0);
    await postgres?.control?.start();
    await everyProbe(roles, '/ready', 0);
    for (const { process } of roles) process.kill('SIGTERM');
    for (const { process } of roles) expect(await process.ended).toMatchObject({ code: 0 });
    expect(await probe(roles[0]?.port ?? 0, '/health')).toBe(1);
  }, 120_000);
});
