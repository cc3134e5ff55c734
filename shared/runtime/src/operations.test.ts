import { defineOperations } from '@svc/contract/operation.ts';
import { describeOperations } from '@svc/testing/operations.contract.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createLocalBus } from './bus.local.ts';
import { systemClock } from './clock.ts';
import { createLog } from './log.ts';
import { createOperationClient, serveOperations } from './operations.ts';

describeOperations('local bus', async () => {
  const bus = createLocalBus();
  return { requester: bus, responder: bus };
});

test.each(['read', 'write'] as const)(
  'a process of the version before is asked in its own words: a %s',
  async (effect) => {
    const answer = z.strictObject({ told: z.array(z.string()) });
    const question = z.strictObject({ name: z.string() });
    const before = defineOperations('pantry', { look: { effect, question, answer } });
    const more = { effect, question: question.extend({ also: z.literal(true).optional() }), answer };
    const now = defineOperations('pantry', { look: { ...more, newer: ['also'] } });
    const platform = { bus: createLocalBus(), clock: systemClock, log: createLog('error', {}) };
    const handlers = { look: async (asked: object) => ({ told: Object.keys(asked) }) };
    await serveOperations(platform, { operations: before, deps: null, handlers });
    const client = createOperationClient(platform, now, 'cook');
    expect(await client.look({ name: 'salt', also: true })).toEqual({ told: ['name'] });
    await expect(client.look({ name: 7 as unknown as string, also: true })).rejects.toMatchObject({
      code: 'VAF_INPUT_INVALID',
    });
  },
);
