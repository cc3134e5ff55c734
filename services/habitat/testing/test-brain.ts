/** A brain as far as the registry asks it: fresh and empty, but for what a test says. */
import { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Bus, Subscription } from '@svc/runtime/bus.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createLog } from '@svc/runtime/log.ts';
import { type Handlers, serveOperations } from '@svc/runtime/operations.ts';

type BrainHandlers = Handlers<typeof BRAIN, null>;

export function serveBrain(bus: Bus, given: Partial<BrainHandlers>): Promise<Subscription> {
  const handlers: BrainHandlers = {
    layout: async () => ({ version: 3 }),
    home: async () => ({ own: null, brain: null }),
    address: async () => ({ barcode: '9-00000-00000-00000-00000-0' }),
    prototypes: async () => ({ files: [] }),
    ...given,
  };
  const platform = { bus, clock: systemClock, log: createLog('silent', {}) };
  return serveOperations(platform, { operations: BRAIN, handlers, deps: null });
}
