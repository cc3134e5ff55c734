/** What a service notes by itself: over the bus, on a real brain. */
import { randomUUID } from 'node:crypto';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
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

test('a note of a service is there once, however often it is asked for, for those of its workspace and operators alone', async () => {
  const id = `res_${randomUUID().replaceAll('-', '')}`;
  const note = { id, file: 'scenario/alpha', change: 'accepted', changedBy: 'agt_1', workspace: 'crew-alpha' };
  const answers = await Promise.all([1, 2, 3].map(() => brain.noteResolution(note)));
  const [first] = answers;
  expect(first).toMatchObject({ ok: true, value: { id, at: expect.any(Number) } });
  for (const answer of answers) expect(answer).toEqual(first);
  for (const [agentId, workspace] of Object.entries({ ann: 'crew-alpha', bob: 'crew-beta' })) {
    bed.registry.grant(agentId, 'default', 'admin');
    bed.registry.grant(agentId, workspace, 'viewer');
  }
  const listed = async (over: Partial<Envelope>, wish = {}) =>
    (await node.call('svc_resolution_list', wish, over))['deltas'];
  const who = (agentId: string, bound: string | null = null): Partial<Envelope> => ({
    operator: false,
    principal: agentId,
    subject: { workspace: 'default', userId: agentId, agentId, roles: ['admin'], verified: true },
    token: { tokenId: 'tok_1', bound, readOnly: false, profile: null, expiresAt: Date.now() + 60_000 },
  });
  for (const wish of [{}, { file: 'scenario/alpha' }]) {
    for (const other of [who('bob'), who('ann', 'default'), { operator: false, subject: {} }])
      expect(await listed(other, wish)).toEqual([]);
    expect(await listed(who('ann'), wish)).toMatchObject([{ id }]);
  }
  const { rows: events } = await bed.database.pool.query(
    `SELECT workspace FROM brain.outbox WHERE name = 'resolution:tracked'`,
  );
  expect(events).toEqual([{ workspace: 'crew-alpha' }]);
  expect(await listed({})).toEqual([
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
