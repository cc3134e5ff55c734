/** Two processes of the registry on one PostgreSQL: ratings and scopes come out as if asked for one after the other. */
import { setTimeout as delay } from 'node:timers/promises';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import { expect, test } from 'vitest';
import type { HabitatNode } from '../testing/habitat-test-bed.ts';
import { freshId, sudoBed } from '../testing/sudo-test-bed.ts';
import { useHabitat } from '../testing/test-habitat.ts';
import { codeOf, enrol } from '../testing/test-people.ts';

await onPostgres((open) => {
  const { node: one, nodeOf, restart } = useHabitat({ open, nodes: 2 });
  const two = nodeOf(1);
  const bed = sudoBed(one);

  /** The calls begin at once, in turn through one process and the other. */
  function atOnce<Result>(
    count: number,
    call: (node: HabitatNode, index: number) => Promise<Result>,
  ): Promise<Result[]> {
    return Promise.all(Array.from({ length: count }, (_, index) => call(nodeOf(index), index)));
  }
  const successes = (codes: (string | null)[]) => codes.filter((code) => code === null).length;

  test('a hundred small ratings at once add up to the last millionth', async () => {
    const entityId = freshId();
    await atOnce(100, (node) => node.call('trust_record', { entityId, type: 'task', value: 0.001 }));
    expect(await two.call('trust_getScore', { entityId })).toMatchObject({ score: 0.6, karma: 100 });
    const records = await one.rows('SELECT 1 FROM habitat.trust_records WHERE entity_id = $1', entityId);
    expect(records).toHaveLength(100);
  });

  test('of two that rate each other at once, one counts with what the other gave it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [ann, bob] = [await enrol(one, freshId()), await enrol(one, freshId())];
      const rating = (entityId: string) => ({ entityId, type: 'task' });
      await Promise.all([ann.call('trust_record', rating(bob.id), one), bob.call('trust_record', rating(ann.id), two)]);
      const scores = await Promise.all(
        [ann, bob].map(async ({ id }) => (await one.call('trust_getScore', { entityId: id })).score),
      );
      expect(scores.toSorted((left, right) => Number(left) - Number(right))).toEqual([0.525, 0.52625]);
    }
  });

  test('limits hold across processes', async () => {
    const [rater, rated] = [await enrol(one, freshId()), await enrol(one, freshId())];
    const rate = (node: HabitatNode) => rater.code('trust_record', { entityId: rated.id, type: 'task' }, node);
    expect(successes(await atOnce(20, rate))).toBe(5);
    const { owner, taskId } = await bed.cast();
    const ask = (node: HabitatNode) => owner.code('svc_sudo_escalate', { taskId, scope: 'network' }, node);
    const asked = await atOnce(30, ask);
    expect(successes(asked)).toBe(20);
    expect(asked.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(10);
    const { requests } = await owner.call('svc_sudo_getTask', { taskId });
    expect(requests).toHaveLength(1);
    const creator = await enrol(one, freshId());
    await bed.sql(
      `INSERT INTO habitat.sudo_tasks (task_id, owner, workspace, created_at, expires_at)
       SELECT $1 || n, $1, 'default', now(), now() + interval '1 hour' FROM generate_series(1, 95) n`,
      creator.id,
    );
    const create = (node: HabitatNode) => creator.code('svc_sudo_createTask', {}, node);
    expect(successes(await atOnce(12, create))).toBe(5);
  });

  test('a trade told twice at once moves its seller once', async () => {
    const seller = freshId();
    const told = await atOnce(10, (node) =>
      node.registry.recordTrade({ tradeId: `t-${seller}`, seller, outcome: 'confirmed' }),
    );
    expect(told.filter(({ recorded }) => recorded)).toHaveLength(1);
    expect(await one.registry.trust({ entityId: seller })).toEqual({ score: 0.52, quarantined: false });
  });

  test('trades of one seller told at once move it one after the other, and each trade once', async () => {
    const [seller, other] = [freshId(), freshId()];
    const outcomes = ['confirmed', 'refuted', 'confirmed', 'cancelled', 'confirmed'] as const;
    const told = await Promise.all(
      [one, two].flatMap((node) =>
        outcomes.flatMap((outcome, n) => [
          node.registry.recordTrade({ tradeId: `t-${seller}-${n}`, seller, outcome }),
          node.registry.recordTrade({ tradeId: `t-${other}-${n}`, seller: other, buyer: other, outcome }),
        ]),
      ),
    );
    expect(told.filter(({ recorded }) => recorded)).toHaveLength(outcomes.length);
    expect(await one.registry.trust({ entityId: seller })).toEqual({ score: 0.54, quarantined: false });
    expect(await one.registry.trust({ entityId: other })).toEqual({ score: 0.5, quarantined: false });
    const records = 'SELECT FROM habitat.trust_records WHERE entity_id = $1 AND delta = $2';
    expect([await bed.sql(records, seller, 20_000), await bed.sql(records, seller, -20_000)]).toEqual([3, 1]);
  });

  test('of approving and denying at once one wins, and the other answers by what then is', async () => {
    const won: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      const { owner, admin, taskId } = await bed.cast();
      const { workspace } = await owner.call('svc_sudo_getTask', { taskId });
      const second = await enrol(one, freshId(), { workspace: String(workspace), role: 'admin' });
      const { requestId } = await owner.call('svc_sudo_escalate', { taskId, scope: 'network' });
      const what = { taskId, scope: 'network' };
      const approve = () => admin.code('svc_sudo_grant', what, one);
      const deny = () => second.code('svc_sudo_revoke', what, two);
      const approveFirst = round % 2 === 0;
      const codes = await Promise.all(approveFirst ? [approve(), deny()] : [deny(), approve()]);
      const [approved, denied] = approveFirst ? codes : codes.toReversed();
      const { allowed } = await bed.can(owner, taskId, 'network');
      expect([approved, denied]).toEqual(allowed === true ? [null, 'FORBIDDEN'] : ['FORBIDDEN', null]);
      const state = allowed === true ? 'granted' : 'denied';
      const task = await owner.call('svc_sudo_getTask', { taskId });
      expect(task).toMatchObject({
        requests: [{ requestId, state }],
        history: [{ event: state }, { event: 'escalated' }],
      });
      won.push(state);
    }
    expect(new Set(won).size).toBe(2);
  });

  test('one scope asked for and granted many times at once is one request and one grant', async () => {
    const { owner, admin, taskId } = await bed.cast();
    const what = { taskId, scope: 'network' };
    await atOnce(8, (node) => owner.call('svc_sudo_escalate', what, node));
    const granted = await atOnce(8, (node) => admin.call('svc_sudo_grant', what, node));
    expect(granted.filter(({ requestId }) => requestId !== undefined)).toHaveLength(1);
    const task = await owner.call('svc_sudo_getTask', { taskId });
    expect(task).toMatchObject({ grants: [{ scope: 'network' }], requests: [{ state: 'granted' }] });
    const revoked = await atOnce(8, (node) => admin.call('svc_sudo_revoke', what, node));
    expect(revoked.filter((reply) => reply.revoked === true)).toHaveLength(1);
  });

  test('one task id wanted by two at once has one owner', async () => {
    const people = [await enrol(one, freshId()), await enrol(one, freshId())];
    for (let round = 0; round < 10; round += 1) {
      const taskId = freshId('raced.');
      const codes = await Promise.all(
        people.map((who, index) => who.code('svc_sudo_createTask', { taskId }, index === 0 ? one : two)),
      );
      expect(successes(codes)).toBe(1);
      expect(codes).toContain('E_SUDO_TASK_EXISTS');
    }
  });

  test('a grant holds and ends everywhere at once, survives a restart, and ends on time', async () => {
    const { owner, taskId } = await bed.cast();
    const held = async (node: HabitatNode) =>
      (await owner.call('svc_sudo_can', { taskId, scope: 'exec' }, node)).allowed;
    for (let round = 0; round < 5; round += 1) {
      await one.call('svc_sudo_grant', { taskId, scope: 'exec' });
      expect(await held(two)).toBe(true);
      await two.call('svc_sudo_revoke', { taskId, scope: 'exec' });
      expect(await held(one)).toBe(false);
    }
    await one.call('svc_sudo_grant', { taskId, scope: 'exec' });
    await bed.sql(
      `UPDATE habitat.sudo_grants SET expires_at = clock_timestamp() + interval '6 seconds' WHERE principal = $1`,
      `task:${taskId}`,
    );
    const endsAt = performance.now() + 6000;
    await restart(1);
    expect(await held(two)).toBe(true);
    await delay(endsAt - performance.now() + 50);
    expect(await held(two)).toBe(false);
    expect(await codeOf(two.call('svc_sudo_revoke', { taskId, scope: 'exec' }))).toBeNull();
  });
});
