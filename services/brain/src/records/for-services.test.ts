/** What a service notes by itself: over the bus, on a real brain. */
import { randomUUID } from 'node:crypto';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { afterAll, expect, test } from 'vitest';
import { type BrainNode, openBrainTestBed } from '../../testing/brain-test-bed.ts';

const bed = await openBrainTestBed();
const node: BrainNode = await bed.start();
const brain = createOperationClient({ bus: node.bus, clock: systemClock }, BRAIN, 'universe');

afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

test('a note of a service is there once, however often it is asked for, and anybody may read it', async () => {
  const id = `res_${randomUUID().replaceAll('-', '')}`;
  const note = { id, file: 'scenario/alpha', change: 'accepted', changedBy: 'agt_1' };
  const answers = await Promise.all([1, 2, 3].map(() => brain.noteResolution(note)));
  const [first] = answers;
  expect(first).toMatchObject({ ok: true, value: { id, at: expect.any(Number) } });
  for (const answer of answers) expect(answer).toEqual(first);
  const { deltas } = await node.call('svc_resolution_list', { file: 'scenario/alpha' });
  expect(deltas).toEqual([
    {
      id,
      file: 'scenario/alpha',
      change: 'accepted',
      changed_by: 'agt_1',
      by: null,
      branch: 'main',
      changedAt: first?.ok === true ? first.value.at : 0,
    },
  ]);
});
