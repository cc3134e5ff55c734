/** No call costs more than in proportion to what it was given; the large form of this table is in the bench. */
import { GROWTH_CASES, MASKED_FOLDER } from '@svc/testing/growth-cases.ts';
import { type GrowthCase, growthOf, LINEAR, type ToolCall } from '@svc/testing/growth.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;
let runs = 0;

beforeAll(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
  bed.registry.setPolicy(`brain:svc/${MASKED_FOLDER}`, { mask: ['k5', 'salary'] });
  await tell(['brain_write', { name: 'plain/first', content: 'value' }]);
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

/** What is refused is an answer like any other here, but never a bug. */
async function tell([tool, args]: ToolCall): Promise<void> {
  const { ok } = testCaller(() => node, null);
  await ok(tool, { ...args }).catch((error: Error) => {
    if (error.message !== 'VAF_INPUT_INVALID') throw error;
  });
}

function grow({ prepare, call }: GrowthCase, size: number): ReturnType<typeof growthOf> {
  const prepared = async (asked: number): Promise<void> => {
    runs += 2;
    for (const one of prepare?.(asked, runs) ?? []) await tell(one);
  };
  return growthOf((asked) => tell(call(asked, runs)), size, prepared);
}

test.each(GROWTH_CASES)('$name', async (one) => {
  expect((await grow(one, one.size / 3)).factor).toBeLessThanOrEqual(LINEAR);
});
