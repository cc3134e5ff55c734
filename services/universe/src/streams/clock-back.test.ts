/** What was put before the clock of the database was set back is there afterwards too. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openUniverseBed, type UniverseBed } from '../../testing/universe-bed.ts';

const database = await migratedDatabase();
let bed: UniverseBed;

beforeAll(async () => {
  bed = await openUniverseBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

/** All that is there was put an hour from now. */
const setBack = () =>
  poolClient(database.pool).$executeRawUnsafe(
    `UPDATE universe.work SET available_at = available_at + interval '1 hour', created_at = created_at + interval '1 hour'`,
  );
const put = async (stream: string, task: string) => String((await bed.call('stream_enqueue', { stream, task }))['id']);
const poll = (stream: string) => bed.call('stream_poll', { stream });

describe('after the clock was set back by an hour', () => {
  test('what was put before is offered at once, before what came later', async () => {
    await put('plain', 'before');
    await setBack();
    await put('plain', 'after');
    expect(await bed.call('stream_info', { stream: 'plain' })).toMatchObject({ pending: 2, delayed: 0 });
    expect(await poll('plain')).toMatchObject({ work: { task: 'before' } });
    expect(await poll('plain')).toMatchObject({ work: { task: 'after' } });
  });

  test('an ordered queue keeps its order', async () => {
    await bed.call('stream_create', { stream: 'ordered', options: { ordered: true } });
    const before = await put('ordered', 'before');
    await setBack();
    const after = await put('ordered', 'after');
    expect(await bed.call('stream_lease', { workId: after, agentId: 'w1' })).toMatchObject({ code: 'E_NOT_AVAILABLE' });
    expect(await bed.call('stream_peek', { stream: 'ordered' })).toMatchObject({ work: { task: 'before' } });
    expect(await bed.call('stream_lease', { workId: before, agentId: 'w1' })).toMatchObject({ leased: true });
    expect(await poll('ordered')).toMatchObject({ work: null });
  });
});
