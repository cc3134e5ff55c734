/** What was done before the clock of the database was set back stands ahead of it, and holds nobody up until then. */
import { beforeAll, expect, test } from 'vitest';
import { sudoBed } from '../../testing/sudo-test-bed.ts';
import { useHabitat } from '../../testing/test-habitat.ts';
import { enrol, type Person } from '../../testing/test-people.ts';

const { node } = useHabitat();
const { cast, sql } = sudoBed(node);
let busy: Person;

beforeAll(async () => {
  busy = await enrol(node, 'busy', { workspace: 'org-clock' });
});

test('a token that was asked for while the clock was past its end is good again, under the stamp of then', async () => {
  const { agentId } = await node.call('agent_spawn', {});
  const { token, tokenId } = await node.call('svc_habitat_mintToken', { agentId });
  const verified = async () => (await node.call('svc_habitat_verifyToken', { token })).valid;
  const asked = () => node.registry.subject({ token: String(token) });
  const stands = async () => (await node.registry.tokenStands({ tokenId: String(tokenId) })).stands;
  const shift = (by: string) => sql(`UPDATE habitat.tokens SET expires_at = expires_at + $1::interval`, by);
  await shift('-2 days');
  const ahead = await asked();
  expect(ahead.token?.limits.expiresAt).toBeLessThan((await node.registry.revision()).at);
  expect([await verified(), await stands()]).toEqual([false, true]);
  await shift('2 days');
  expect((await asked()).stamp).toEqual(ahead.stamp);
  expect([await verified(), await stands()]).toEqual([true, true]);
});

/** So many at most within a minute, and the same again after the clock was set back by an hour. */
async function limitedTo(most: number, call: () => Promise<string | null>, setBack: () => Promise<unknown>) {
  const codes: (string | null)[] = [];
  while (codes.length < most) codes.push(await call());
  expect(new Set(codes)).toEqual(new Set([null]));
  expect(await call()).not.toBeNull();
  await setBack();
  expect(await call()).toBeNull();
}
const hourAhead = (table: string, column: string) => () =>
  sql(`UPDATE habitat.${table} SET ${column} = ${column} + interval '1 hour'`);

test('an agent broadcasts, and spawns, as many in a minute as ever', async () => {
  const said = () => busy.code('svc_agents_broadcast', { message: 'x', workspace: 'org-clock' });
  await limitedTo(10, said, hourAhead('agent_messages', 'at'));
  await limitedTo(60, () => busy.code('agent_spawn', { team: 'clock' }), hourAhead('agents', 'created_at'));
});

test('it escalates, and rates', async () => {
  const { owner, taskId } = await cast();
  const escalated = () => owner.code('svc_sudo_escalate', { taskId, scope: 'network' });
  await limitedTo(20, escalated, hourAhead('sudo_history', 'at'));
  let rated = 0;
  const rate = async () => {
    rated += 1;
    const { id } = await enrol(node, `rated${rated}`, { workspace: 'org-clock' });
    return busy.code('trust_record', { entityId: id, type: 'task' });
  };
  await limitedTo(20, rate, hourAhead('trust_records', 'at'));
});

test.each([
  ['minute', 'family:busy', '1 hour', 60],
  ['day', 'workspace:org-clock', '40 days', 10_000],
])('it logs anew where the %s that is counted lies ahead', async (_window, scope, ahead, used) => {
  expect(await busy.code('svc_audit_log', { event: 'x' })).toBeNull();
  const counted = (interval: string) =>
    sql('UPDATE habitat.audit_use SET since = since + $2::interval, used = $3 WHERE scope = $1', scope, interval, used);
  await counted('0');
  expect(await busy.code('svc_audit_log', { event: 'x' })).toBe('E_QUOTA');
  await counted(ahead);
  expect(await busy.code('svc_audit_log', { event: 'x' })).toBeNull();
});
