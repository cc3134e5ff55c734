/** What calls inside of others count against. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DoorsBed, openDoorsBed } from '../../testing/doors-bed.ts';

const database = await migratedDatabase();
let bed: DoorsBed;

beforeAll(async () => {
  bed = await openDoorsBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

test('calls inside of others count against the plan of the organisation, for all of its agents together', async () => {
  const { id: org } = await bed.registry('teams_createOrg', { name: 'Small' });
  for (const agent of ['ann', 'bob']) {
    await bed.enrol(agent, 'editor');
    await bed.registry('teams_assign', { agentId: agent, org });
  }
  const items = Array.from({ length: 50 }, () => ({ text: 'a' }));
  const errorsOf = async (agent: string) =>
    (await bed.call('recursion_batch', { operation: 'probe_read', items }, agent))['errors'];
  expect(await errorsOf('ann')).toEqual([]);
  const limited = await errorsOf('bob');
  expect(limited).toHaveLength(40);
  expect(limited).toContainEqual(expect.objectContaining({ code: 'RATE_LIMITED' }));
});
