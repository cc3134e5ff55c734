/** What is done with another node and refused, whichever side refuses it. */
import { callTool } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, createBetween, openNode, untilMet } from '../../testing/node-bed.ts';
import type { WireLedger } from './domain/messages.ts';
import { PEER_LIMITS } from './domain/quota.ts';

const PAIR = 'a secret of delta and beta alone';

let between: Between;
let alpha: BedNode;
let beta: BedNode;
/** Its secret is that of nobody else; with beta it shares one of their own. */
let delta: BedNode;

beforeAll(async () => {
  between = createBetween();
  const peer = (name: string) => ({
    SVC_NODE_PEERS: JSON.stringify([{ name, agentId: `${name}-agent`, secret: PAIR }]),
  });
  [alpha, beta, delta] = await Promise.all([
    openNode('alpha', between),
    openNode('beta', between, peer('delta')),
    openNode('delta', between, { ...peer('beta'), SVC_NODE_SECRET: 'the secret of delta alone' }),
  ]);
  await untilMet([alpha, beta]);
});

afterAll(async () => {
  await Promise.all([alpha, beta, delta].map((node) => node.stop()));
});

async function opened(node: BedNode, topic: string, over: object = {}): Promise<string> {
  await node.agora('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', ...over });
  return topic;
}

test('what is signed with a secret that is not known here is not taken', async () => {
  const topic = await opened(delta, 'theirs');
  expect(await beta.agora('agora_vote', { node: 'delta', topic, outcome: 'yes' })).toMatchObject({
    code: 'E_SIGNATURE',
  });
  expect(await beta.agora('agora_pull', { node: 'delta', topic })).toMatchObject({ code: 'E_SIGNATURE' });
  expect(await delta.agora('agora_push', { node: 'beta', topic })).toMatchObject({ code: 'E_SIGNATURE' });
});

test('whoever is in quarantine at the owner has no vote there', async () => {
  const topic = await opened(alpha, 'quarantine');
  await alpha.habitat('trust_record', { entityId: 'beta-agent', type: 'quarantine' });
  expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' })).toMatchObject({
    reason: 'quarantined',
    code: 'E_QUARANTINED',
  });
});

test('members alone vote on what everybody may read', async () => {
  const { agentId } = await alpha.habitat('agent_spawn', { name: 'rhea', team: 'red' });
  const topic = await opened(alpha, 'open', {
    scope: { owner: `agent:${String(agentId)}`, visibility: 'public' },
    agentId,
  });
  expect(await beta.agora('agora_vote', { node: 'alpha', topic, outcome: 'yes' })).toMatchObject({ code: 'E_SCOPE' });
});

test('a token acts as nobody but its own agent', async () => {
  const over = { operator: false, subject: { agentId: 'zoe', userId: 'zoe', verified: true, workspace: 'default' } };
  const args = { node: 'alpha', topic: 'x', outcome: 'yes', agentId: 'beta-agent' };
  await expect(callTool(beta.bus, 'agora', 'agora_vote', args, over)).rejects.toThrow('FORBIDDEN');
});

test('a node that does not answer in time, and more questions at once than there may be', async () => {
  const topic = await opened(alpha, 'slow');
  between.carry('question lost');
  for (const [tool, args] of [
    ['agora_vote', { node: 'alpha', topic, outcome: 'yes' }],
    ['agora_pull', { node: 'alpha', topic }],
  ] as const) {
    expect(await beta.agora(tool, args)).toMatchObject({ reason: 'timeout', code: 'E_OUTCOME_UNKNOWN' });
  }
  expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({ code: 'E_OUTCOME_UNKNOWN' });
  between.carry('well');
  for (const [node, tool, args] of [
    [beta, 'agora_vote', { node: 'alpha', topic, outcome: 'yes' }],
    [beta, 'agora_pull', { node: 'alpha', topic }],
    [alpha, 'agora_push', { node: 'beta', topic }],
  ] as const) {
    const release = between.hold();
    const waiting = Array.from({ length: PEER_LIMITS.openRoundTrips }, () =>
      node.agora('agora_pull', { node: args.node, topic }),
    );
    await expect
      .poll(async () => (await node.agora('agora_sync_status', {}))['pending'])
      .toBe(PEER_LIMITS.openRoundTrips);
    expect(await node.agora(tool, args)).toMatchObject({ reason: 'quota', code: 'E_QUOTA' });
    release();
    await Promise.all(waiting);
  }
});

test('a node that is away, and two that say that they are the same one', async () => {
  const topic = await opened(alpha, 'away');
  const asked = [
    ['agora_vote', { node: 'away', topic, outcome: 'yes' }],
    ['agora_pull', { node: 'away', topic }],
    ['agora_push', { node: 'away', topic }],
  ] as const;
  const away = await openNode('away', between);
  await untilMet([alpha, away]);
  await away.stop();
  for (const [tool, args] of asked) {
    expect(await alpha.agora(tool, args)).toMatchObject({ reason: 'offline', code: 'SERVICE_UNAVAILABLE' });
  }
  const other = await openNode('away', between);
  const isInConflict = async () => {
    const { peers } = (await alpha.agora('agora_nodes', {})) as { peers: { name: string; conflict: boolean }[] };
    return peers.some(({ name, conflict }) => name === 'away' && conflict);
  };
  await expect.poll(isInConflict).toBe(true);
  for (const [tool, args] of asked) {
    expect(await alpha.agora(tool, args)).toMatchObject({ reason: 'node_conflict', code: 'E_NODE' });
  }
  await other.stop();
});

test.each(['agora_pull', 'agora_push'])('%s of a node that nobody knows', async (tool) => {
  expect(await alpha.agora(tool, { node: 'nobody', topic: 'x' })).toMatchObject({
    reason: 'unknown_node',
    code: 'E_NODE',
  });
});

test('what was made while a deployment had no name never leaves it', async () => {
  const topic = await opened(alpha, 'early');
  await alpha.database.pool.query(
    `UPDATE agora.topics SET owner = 'local', header = replace(header, '"owner":"alpha"', '"owner":"local"') WHERE topic = 'early'`,
  );
  const said = between.said.length;
  expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({
    reason: 'local',
    code: 'E_TOPIC_LOCAL',
  });
  expect(between.said).toHaveLength(said);
  expect(await beta.agora('agora_pull', { node: 'alpha', topic })).toMatchObject({ code: 'E_TOPIC_ABSENT' });
});

test('a contradiction in what is pushed is told to whoever pushes it', async () => {
  const topic = await opened(alpha, 'forked');
  await alpha.agora('consensus_vote', { topic, agentId: 'ann', choice: 'yes' });
  await beta.agora('agora_pull', { node: 'alpha', topic });
  const { entries } = (await alpha.deps().federatedLedgers.copyAfter(topic, 0, 1)) as WireLedger;
  const entry = { ...entries[0]?.entry, weight: 500 };
  await alpha.database.pool.query('UPDATE agora.ballot_entries SET weight = 500, entry_sig = $2 WHERE topic = $1', [
    topic,
    alpha.keyring.sign('svc-agora-entry', entry),
  ]);
  expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({
    reason: 'disputed',
    code: 'E_LEDGER_FORK',
  });
});
