import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { createRegistryClient } from '@svc/runtime/registry.ts';
import { describeRegistry } from './registry.contract.ts';
import { FakeRegistry } from './registry.fake.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createLog } from '@svc/runtime/log.ts';

describeRegistry('in memory', async () => {
  const platform = { bus: createLocalBus({ log: createLog('error', {}) }), clock: systemClock };
  const registry = new FakeRegistry();
  await registry.serveOn(platform);
  return {
    ask: {
      ...createOperationClient(platform, HABITAT, 'brain'),
      ...createOperationClient(platform, HABITAT, 'agora'),
      ...createRegistryClient(platform, 'gateway'),
    },
    grant: async (...granted) => registry.grant(...granted),
    mint: async (agentId, options) => registry.mint(agentId, options),
    revoke: async (token) => registry.revoke(token),
    setPolicy: async (resource, policy) => registry.setPolicy(resource, policy),
    close: () => registry.leave(),
  };
});
