/** Queues of who is gone: they take no place of their family's for good. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openUniverseBed, type UniverseBed } from '../../testing/universe-bed.ts';
import { MOST_QUEUES } from './domain/stream.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
let bed: UniverseBed;

beforeAll(async () => {
  bed = await openUniverseBed(database);
  for (const agent of ['parent', 'child']) await bed.enrol(agent, 'editor');
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

const create = (stream: string, agent = 'parent') => bed.call('stream_create', { stream }, agent);
const isThere = async (stream: string) => (await bed.call('stream_info', { stream }))['exists'];

test('where a family has no room, the oldest of its queues makes some whose creator is gone and in which nothing lies', async () => {
  await create('of-parent');
  for (let n = 0; n < MOST_QUEUES.ofFamily - 1; n += 1) await create(`of-child-${n}`, 'child');
  await client.$executeRawUnsafe(`UPDATE universe.streams SET family = 'parent' WHERE created_by = 'child'`);
  await bed.call('stream_enqueue', { stream: 'of-child-0', task: 1 }, 'parent');
  const full = { code: 'E_QUOTA', limit: MOST_QUEUES.ofFamily };
  expect(await create('one-more')).toMatchObject(full);

  await bed.registry('svc_habitat_removeRole', { workspaceId: 'default', userId: 'child', role: 'editor' });
  expect(await create('one-more')).toMatchObject({ created: true });
  expect(await create('one-more')).toMatchObject({ created: false });
  expect(await create('another')).toMatchObject({ created: true });
  const asked = ['of-parent', 'of-child-0', 'of-child-1', 'of-child-2', 'of-child-3', 'one-more', 'another'];
  expect(await Promise.all(asked.map(isThere))).toEqual([true, true, false, false, true, true, true]);
  expect(await bed.call('stream_info', { stream: 'of-child-0' })).toMatchObject({ pending: 1 });
});

test('where what is left of theirs holds work there is no room', async () => {
  await client.$executeRawUnsafe(
    `UPDATE universe.streams SET created_by = 'parent' WHERE created_by = 'child' AND name <> 'of-child-0'`,
  );
  expect(await create('too-many')).toMatchObject({ code: 'E_QUOTA' });
  expect(await isThere('of-child-0')).toBe(true);
});
