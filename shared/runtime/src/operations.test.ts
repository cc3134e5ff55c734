import { describeOperations } from '@svc/testing/operations.contract.ts';
import { createLocalBus } from './bus.local.ts';

describeOperations('local bus', async () => {
  const bus = createLocalBus();
  return { requester: bus, responder: bus };
});
