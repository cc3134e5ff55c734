import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { expect, test } from 'vitest';
import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { openHabitatTestBed } from '../testing/habitat-test-bed.ts';

const PATIENCE_MS = 400;

test('what is changed by a COMMIT whose answer comes too late holds for everybody from then on', async () => {
  await using bed = await openHabitatTestBed(migratedEmbeddedDatabase);
  let isSlow = false;
  bed.database.pool.on('acquire', (client: PoolClient) => {
    if (isSlow) client.query = answeredLate(client);
  });
  const node = await bed.start();
  await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: 'ann', role: 'viewer' });
  const { token } = await node.call('svc_habitat_mintToken', { agentId: 'ann' });
  const { stamp: before } = await node.registry.revision();
  const revoke = () => ({ tokenOrHash: token });
  isSlow = true;
  const soon = { deadlineAt: Date.now() + PATIENCE_MS };
  await expect(node.call('svc_habitat_revokeToken', revoke(), soon)).rejects.toThrow('E_OUTCOME_UNKNOWN');
  isSlow = false;
  const { stamp: after } = await node.registry.revision();
  expect(after.rev).toBeGreaterThan(before.rev);
  expect(await node.call('svc_habitat_revokeToken', revoke())).toEqual({ revoked: false });
  expect(await node.call('svc_habitat_verifyToken', { token })).toEqual({ valid: false });
  await node.stop();
});

/** Its statements are done as ever; that a transaction is committed is told when nobody waits for it any more. */
function answeredLate(client: PoolClient): PoolClient['query'] {
  const query = client.query.bind(client) as (...asked: unknown[]) => Promise<unknown>;
  const late = async (...asked: unknown[]): Promise<unknown> => {
    const answer = await query(...asked);
    if (asked[0] === 'COMMIT') await sleep(2 * PATIENCE_MS);
    return answer;
  };
  return late as PoolClient['query'];
}
