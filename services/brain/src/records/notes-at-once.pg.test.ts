/** A note that two processes are asked for at once, because a task of a crew is sent again while it is done. */
import { join } from 'node:path';
import { BRAIN_EVENTS } from '@svc/contract/events.brain.ts';
import type { Database } from '@svc/runtime/database.ts';
import { type ChangeCall, openStore } from '@svc/runtime/store.ts';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRecordStore, type RecordStore } from './record-store.ts';

const MIGRATIONS = join(import.meta.dirname, '..', '..', 'prisma', 'migrations');
const ROUNDS = 20;
const CALL: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

await onPostgres((open) => {
  const databases: Database[] = [];
  const processes: RecordStore[] = [];

  beforeAll(async () => {
    for (let n = 0; n < 2; n += 1) {
      const database = await open();
      databases.push(database);
      const platform = platformOn(database);
      const store = await openStore(platform, { service: 'brain', events: BRAIN_EVENTS, migrations: MIGRATIONS });
      processes.push(createRecordStore(store, platform.ids));
    }
    await databases[0]?.pool.query(
      `INSERT INTO brain.brain_homes (brain, id, workspace, at) VALUES ('svc', 'home', 'default', now())`,
    );
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
  });

  const rowsOf = async (sql: string): Promise<number> => {
    const counted = await databases[0]?.pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${sql}`);
    return counted?.rows[0]?.count ?? -1;
  };

  test('it is there once, told of once and counted once, and each of them hears when it was noted', async () => {
    const resolution = {
      file: 'scenario/alpha',
      change: 'accepted',
      changedBy: 'agt_1',
      by: null,
      branch: 'main',
      workspace: 'crew-alpha',
    };
    const wish = { place: { brain: 'svc', brainId: 'home' }, resolution, actor: 'agt_1', resources: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      const id = `res_${round}`;
      const asked = [...processes, ...processes, ...processes].map((one) => one.note(CALL, wish, id));
      const [first, ...others] = (await Promise.all(asked)).map(({ decision }) => decision);
      expect(first).toMatchObject({ ok: true, value: { id, at: expect.any(Number) } });
      for (const other of others) expect(other).toEqual(first);
    }
    expect(await rowsOf('brain.brain_resolutions')).toBe(ROUNDS);
    expect(await rowsOf(`brain.outbox WHERE name = 'resolution:tracked'`)).toBe(ROUNDS);
    const used = await databases[0]?.pool.query(`SELECT items FROM brain.brain_usage WHERE kind = 'resolutions'`);
    expect(used?.rows.map(({ items }: { items: unknown }) => Number(items))).toEqual([ROUNDS]);
  });
});
