/** What a context that was built before costs, counted: a time would say more of the machine. And when it counts no more. */
import type { Subject } from '@svc/contract/subject.ts';
import { type Traffic, watchTraffic } from '@svc/testing/traffic.ts';
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
let counted: ReturnType<typeof watchTraffic>;
beforeAll(async () => {
  counted = watchTraffic({ database: bed.database, bus: node.bus });
});

const LATER = { deadlineAt: Number.MAX_SAFE_INTEGER };
const BOB: Subject = { workspace: 'acme', userId: 'bob', agentId: 'bob', roles: ['editor'], verified: true };
const operator = testCaller(() => node, null);
const bob = testCaller(() => node, BOB);
const stateOf = async (args: object, who = operator) => {
  const { cache, assembled } = await who.ok('context_build', { ...args }, LATER);
  return { state: (cache as { state: string }).state, assembled: String(assembled) };
};

/** Of several times the least: what time brings round, whoever builds, only adds to it. */
async function leastCounted(work: () => Promise<void>): Promise<Traffic> {
  const seen: Traffic[] = [];
  for (let time = 0; time < 5; time += 1) seen.push(await counted(work));
  const sizeOf = ({ statements, transactions, asked }: Traffic) =>
    statements.length + transactions.length + asked.length;
  return seen.reduce((least, one) => (sizeOf(one) < sizeOf(least) ? one : least));
}

test('is answered after one statement that reads and one that notes it, and nobody else is asked', async () => {
  await operator.ok('brain_push', { name: 'kept', create: true }, LATER);
  await operator.ok('brain_write', { brain: 'kept', name: 'goals', content: 'Stay afloat.' }, LATER);
  await operator.ok('brain_attend', { brain: 'kept', name: 'goals', score: 1 }, LATER);
  await bob.ok('context_heartbeat', { action: 'start' }, LATER);
  const wish = { brain: 'kept', query: 'afloat' };
  for (const who of [operator, bob]) {
    expect(await stateOf(wish, who)).toMatchObject({ state: 'miss' });
    expect(await stateOf(wish, who)).toMatchObject({ state: 'hit' });
    const { statements, transactions, asked } = await leastCounted(async () => {
      expect(await stateOf(wish, who)).toMatchObject({ state: 'hit' });
    });
    expect(statements).toEqual([
      expect.stringMatching(/^SELECT .*FROM brain\.brain_leases/s),
      expect.stringMatching(/INSERT INTO brain\.brain_contexts/),
    ]);
    expect(transactions).toEqual([]);
    // The call itself.
    expect(asked).toHaveLength(1);
  }
});

test('is none any more when its rules have changed, and when a lease has expired', async () => {
  await operator.ok('brain_push', { name: 'ruled', create: true }, LATER);
  await operator.ok('brain_write', { brain: 'ruled', name: 'pay', content: 'The canary of the quay.' }, LATER);
  await operator.ok('svc_lock', { action: 'acquire', brain: 'ruled', agentId: 'keeper' }, LATER);
  const wish = { brain: 'ruled', query: 'quay' };
  await stateOf(wish, bob);
  const before = await stateOf(wish, bob);
  expect(before.state).toBe('hit');
  for (const text of ['canary', 'held by keeper']) expect(before.assembled).toContain(text);
  await bed.database.pool.query(
    "UPDATE brain.brain_leases SET expires_at = clock_timestamp() - interval '1 ms' WHERE brain = 'ruled'",
  );
  const free = await stateOf(wish, bob);
  expect([free.state, free.assembled.includes('keeper')]).toEqual(['miss', false]);
  bed.registry.setPolicy('brain:ruled/pay.md', { readableBy: ['role:admin'], writableBy: ['role:admin'] });
  const ruled = await stateOf(wish, bob);
  expect([ruled.state, ruled.assembled.includes('canary')]).toEqual(['miss', false]);
});

test('is none of what was there while it was built and is not any more', async () => {
  await operator.ok('brain_push', { name: 'passing', create: true }, LATER);
  const write = (content: string) => operator.ok('brain_write', { brain: 'passing', name: 'tide', content }, LATER);
  let wasMet = 0;
  for (let budget = 1000; budget < 1030; budget += 1) {
    await write('The tide is high.');
    const wish = { brain: 'passing', query: 'tide', budget };
    const [during] = await Promise.all([stateOf(wish), write('The tide is passing.')]);
    if (during.assembled.includes('passing.')) wasMet += 1;
    await write('The tide is high.');
    expect((await stateOf(wish)).assembled).not.toContain('passing.');
  }
  expect(wasMet).toBeGreaterThan(0);
});
