import { expect, test } from 'vitest';
import { openHabitatTestBed } from '../testing/habitat-test-bed.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';

test('a change that was in hand when the process stood still is not begun when it goes on', async () => {
  const bus = createLocalBus({ log: createLog('error', {}) });
  let stoodStillAt = -Infinity;
  bus.sinceGivenUpMs = () => performance.now() - stoodStillAt;
  const bed = await openHabitatTestBed(migratedEmbeddedDatabase);
  const node = await bed.start({ bus });
  const add = (userId: string) => node.call('svc_habitat_addRole', { workspaceId: 'default', userId, role: 'viewer' });
  await add('before');
  // The embedded database has one connection: everybody else waits.
  const holder = await bed.database.pool.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1');
  const late = add('late').then(
    () => 'done',
    ({ message }: Error) => message,
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  stoodStillAt = performance.now();
  await holder.query('ROLLBACK');
  holder.release();
  expect(await late).toBe('SERVICE_UNAVAILABLE');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await add('after')).toMatchObject({ added: true });
  await node.stop();
  await bed[Symbol.asyncDispose]();
});
