import { createFakeClock } from '@svc/testing/fakes.ts';
import { createMemoryKeyStates } from './key-states.memory.ts';
import { describeQos } from './qos.contract.ts';

const clock = createFakeClock();
describeQos('memory', { clock, open: async (limits) => [createMemoryKeyStates(clock, limits)] });
