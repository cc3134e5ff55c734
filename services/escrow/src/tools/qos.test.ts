import { awayRedis } from '@svc/testing/away-redis.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EscrowNode, startEscrowNode } from '../../testing/escrow-test-bed.ts';

const database = await migratedDatabase();
let node: EscrowNode;
beforeAll(async () => {
  node = await startEscrowNode(database);
});
afterAll(async () => {
  await node.stop();
  await database.close();
});

const call: EscrowNode['call'] = (...args) => node.call(...args);
let names = 0;
const newKey = () => `k${(names += 1)}`;

describe('with an idempotency key', () => {
  it('qos_canProceed counts twins at once once, and marks the stored reply', async () => {
    const key = newKey();
    const over = { idempotencyKey: key };
    const twins = await Promise.all(Array.from({ length: 5 }, () => call('qos_canProceed', { key, limit: 9 }, over)));
    const [first] = twins.filter(({ replayed }) => replayed === undefined);
    expect(first).toMatchObject({ allowed: true, key, limit: 9, remaining: 8 });
    expect(twins.filter(({ replayed }) => replayed === true)).toEqual(
      Array.from({ length: 4 }, () => ({ ...first, replayed: true })),
    );
    expect(await call('qos_canProceed', { key, limit: 9 })).toMatchObject({ remaining: 7 });
  });

  it('qos_recordFailure counts once', async () => {
    const key = newKey();
    const over = { idempotencyKey: key };
    const first = await call('qos_recordFailure', { key, count: 4 }, over);
    expect(first).toEqual({ key, failures: 4, open: false });
    expect(await call('qos_recordFailure', { key, count: 4 }, over)).toEqual({ ...first, replayed: true });
    expect(await call('qos_recordFailure', { key })).toMatchObject({ failures: 5, open: true });
    expect(await call('qos_recordFailure', { key, count: 4 }, over)).toEqual({ ...first, replayed: true });
  });

  it('other arguments are refused and not counted', async () => {
    const key = newKey();
    const over = { idempotencyKey: key };
    await call('qos_canProceed', { key, limit: 9 }, over);
    await expect(call('qos_canProceed', { key, limit: 8 }, over)).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
    await expect(call('qos_canProceed', { key: newKey(), limit: 9 }, over)).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
    expect(await call('qos_canProceed', { key, limit: 9 })).toMatchObject({ remaining: 7 });
  });

  it('two callers and two tools with one key do not meet', async () => {
    const key = newKey();
    const over = { idempotencyKey: key };
    const answers = [
      await node.as('ann')('qos_canProceed', { key }, over),
      await node.as('bob')('qos_canProceed', { key }, over),
    ];
    expect(answers.map(({ remaining, replayed }) => [remaining, replayed])).toEqual([
      [59, undefined],
      [58, undefined],
    ]);
    expect(await node.as('ann')('qos_recordFailure', { key }, over)).toEqual({ key, failures: 1, open: false });
    expect(await node.as('bob')('qos_canProceed', { key }, over)).toMatchObject({ remaining: 58, replayed: true });
  });
});

describe('while Redis is away', () => {
  it.each(['qos_canProceed', 'qos_recordFailure'])('%s answers so, and allows nothing', async (tool) => {
    using redis = awayRedis();
    const other = await startEscrowNode(database, { shared: redis.shared });
    await expect(other.call(tool, { key: newKey() })).rejects.toThrow('SERVICE_UNAVAILABLE');
    await other.stop();
  });
});
