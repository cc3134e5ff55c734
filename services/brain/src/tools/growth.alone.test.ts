/** No call costs more than in proportion to what it was given; the large form of this table is in the bench. */
import { GROWTH_CASES, MASKED_FOLDER } from '@svc/testing/growth-cases.ts';
import { answered, casesToldBy, LINEAR, type ToolCall } from '@svc/testing/growth.ts';
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();

beforeAll(async () => {
  bed.registry.setPolicy(`brain:svc/${MASKED_FOLDER}`, { mask: ['k5', 'salary'] });
  await tell(['brain_write', { name: 'plain/first', content: 'value' }]);
});

const tell = ([tool, args]: ToolCall): Promise<void> =>
  answered(testCaller(() => node, null).ok(tool, { ...args }), (code) => code === 'VAF_INPUT_INVALID');
const { grow } = casesToldBy(tell);

test.each(GROWTH_CASES)('$name', async (one) => {
  expect((await grow(one, one.size / 3)).factor).toBeLessThanOrEqual(LINEAR);
});
