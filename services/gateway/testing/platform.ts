/** A platform for the gateway's tests: the real local bus, and nothing that the gateway does not use. */
import { type Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Redis } from '@svc/runtime/redis.ts';

export const KEY = 'test-key-0123456789abcdef';

export interface TestPlatformOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly bus?: Bus;
  readonly redis?: Redis;
}

let started = 0;

export function createTestPlatform({ environment = {}, bus, redis }: TestPlatformOptions = {}): StatelessPlatform {
  const log = createLog('fatal', {});
  const { config } = readConfig({ SVC_MCP_PORT: '0', SVC_DRAIN_WAIT_MS: '0', ...environment }, () => '');
  const wire = bus ?? createLocalBus({ log });
  started += 1;
  return {
    kind: 'embedded',
    durability: 'process-crash',
    config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    random: systemRandom,
    ids: createIds(systemClock, systemRandom),
    bus: wire,
    links: [{ name: 'bus', isNeeded: true, isUp: () => wire.connected }],
    shared: (forms) => (redis === undefined ? forms.memory() : forms.redis(redis)),
    servers: async () => ({}),
    drainWaitMs: 0,
    node: { nodeId: `node-${started}`, instance: `instance-${started}`, startedAt: Date.now(), version: '1.2.3' },
  };
}
