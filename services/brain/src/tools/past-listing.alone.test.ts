/** Whoever lists many past states of a brain makes the process keep none of them whole. */
import { bytesInUse } from '@svc/testing/memory-in-use.ts';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';

const FILE_BYTES = 900_000;
/** As many as fill whatever is kept for a while, and as many again. */
const [FIRST, FURTHER] = [40, 40];

test('memory does not grow with the commits that were listed', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  bed.registry.setPolicy('brain:svc/masked', { mask: ['salary'] });
  const { ok } = testCaller(() => node, null);
  const listEach = async (from: number, count: number): Promise<number> => {
    for (let at = from; at < from + count; at += 1) {
      const content = `{"salary": ${at}, "text": "${`${at} `.repeat(FILE_BYTES).slice(0, FILE_BYTES)}"}`;
      const { commit } = await ok('brain_save', { name: 'masked/large.json', content });
      expect(await ok('brain_list_files', { at: commit })).toMatchObject({ files: [{ file: 'masked/large.json' }] });
      await ok('brain_read', { name: 'masked/large.json', at: commit });
    }
    return bytesInUse();
  };
  const first = await listEach(0, FIRST);
  const grown = (await listEach(FIRST, FURTHER)) - first;
  await node.stop();
  expect(grown).toBeLessThan((FURTHER * FILE_BYTES) / 2);
});
