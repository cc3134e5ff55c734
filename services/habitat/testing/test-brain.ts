/** A brain as far as the registry asks it: fresh and empty, but for what a test says. */
import { defineOperations } from '@svc/contract/operation.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Bus, Subscription } from '@svc/runtime/bus.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createLog } from '@svc/runtime/log.ts';
import { type Handlers, serveOperations } from '@svc/runtime/operations.ts';

const { layout, home, address, prototypes } = BRAIN.declared;
const ASKED = defineOperations('brain', { layout, home, address, prototypes });

type BrainHandlers = Handlers<typeof ASKED, null>;

export function serveBrain(bus: Bus, given: Partial<BrainHandlers>): Promise<Subscription> {
  const handlers: BrainHandlers = {
    layout: async () => ({ version: 3 }),
    home: async () => ({ own: null, brain: null }),
    address: async () => ({ barcode: '9-00000-00000-00000-00000-0' }),
    prototypes: async () => ({ files: [] }),
    ...given,
  };
  const platform = { bus, clock: systemClock, log: createLog('silent', {}) };
  return serveOperations(platform, { operations: ASKED, handlers, deps: null });
}
