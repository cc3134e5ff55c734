/** A platform for the gateway's tests: the real local bus, and nothing that the gateway does not use. */
import { type Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';

export const KEY = 'test-key-0123456789abcdef';

export interface TestPlatformOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly bus?: Bus;
  readonly redis?: StatelessPlatform['redis'];
}

let started = 0;

export function createTestPlatform({
  environment = {},
  bus,
  redis = null,
}: TestPlatformOptions = {}): StatelessPlatform {
  const log = createLog('fatal', {});
  const { config } = readConfig({ SVC_MCP_PORT: '0', SVC_DRAIN_WAIT_MS: '0', ...environment }, () => '');
  started += 1;
  return {
    kind: redis === null ? 'embedded' : 'cluster',
    durability: 'process-crash',
    config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    random: systemRandom,
    ids: createIds(systemClock, systemRandom),
    bus: bus ?? createLocalBus({ log }),
    redis,
    node: { nodeId: `node-${started}`, instance: `instance-${started}`, startedAt: Date.now(), version: '1.2.3' },
  };
}
