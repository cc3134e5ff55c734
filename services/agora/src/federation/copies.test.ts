/** Who sends topics away, how many copies there is room for and for how long, and what a copy of a sealed topic tells. */
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, type NodesBed, openNodes } from '../../testing/node-bed.ts';
import { copyAt, sayTo } from '../../testing/peer-voice.ts';
import { PEER_LIMITS } from './domain/quota.ts';

let bed: NodesBed<'alpha' | 'beta' | 'gamma'>;
let between: Between;
let alpha: BedNode;
let beta: BedNode;
let gamma: BedNode;

beforeAll(async () => {
  bed = await openNodes(['alpha', 'beta', 'gamma']);
  ({ between } = bed);
  ({ alpha, beta, gamma } = bed.nodes);
});

afterAll(() => bed.stop());

async function opened(topic: string, over: Fields = {}): Promise<string> {
  const wish = { topic, options: ['yes', 'no'], agentId: 'ann', minQuorum: 5, ...over };
  expect(await alpha.agora('consensus_create', wish)).toMatchObject({ topic });
  return topic;
}

/** With a token of the agent, which may be bound to a workspace. */
async function as(node: BedNode, agentId: string, tool: string, args: Fields, bound: string | null = null) {
  const token = { subject: { agentId, verified: true }, operator: false, principal: agentId };
  const limits =
    bound === null ? {} : { token: { tokenId: 't', bound, readOnly: false, profile: null, expiresAt: 9e15 } };
  try {
    return (await callTool(node.bus, 'agora', tool, args, { ...token, ...limits })).fields;
  } catch (error) {
    return String(error);
  }
}

const sql = (node: BedNode, text: string, ...values: unknown[]) => node.database.pool.query(text, values);

const join = (userId: string) =>
  alpha.habitat('svc_habitat_addRole', { userId, workspaceId: 'default', role: 'editor' });

test('a topic of this node is sent away by its author or an operator, a copy by whoever sees it', async () => {
  const topic = await opened('whose');
  const push = { node: 'beta', topic };
  expect(await as(alpha, 'stranger', 'agora_push', push)).toContain('FORBIDDEN');
  expect(await as(alpha, 'ann', 'agora_push', push)).toMatchObject({ pushed: true, created: true });
  expect(await as(beta, 'stranger', 'agora_push', { node: 'gamma', topic })).toMatchObject({ pushed: true });
});

test('members of its scope send a topic away, strangers do not, however public it is', async () => {
  await join('wim');
  await join('wil');
  const topic = await opened('ours', { agentId: 'wil', scope: { owner: 'workspace:default', visibility: 'public' } });
  expect(await as(alpha, 'stranger', 'agora_push', { node: 'beta', topic })).toContain('FORBIDDEN');
  expect(await as(alpha, 'wim', 'agora_push', { node: 'beta', topic })).toMatchObject({ pushed: true });
});

test('a token that is bound to one workspace acts with no membership of another', async () => {
  await join('wim');
  const topic = await opened('at-work', { agentId: 'wim', scope: { owner: 'workspace:default' } });
  const push = { node: 'beta', topic };
  expect(await as(alpha, 'wim', 'agora_push', push, 'elsewhere')).toMatchObject({ code: 'E_TOPIC_ABSENT' });
  expect(await as(alpha, 'wim', 'agora_push', push, 'default')).toMatchObject({ code: 'E_SCOPE' });
  expect(await as(alpha, 'wim', 'agora_push', push)).toMatchObject({ code: 'E_SCOPE' });
});

async function filled(node: BedNode, columns: string): Promise<void> {
  await sql(
    node,
    `INSERT INTO agora.topics SELECT (json_populate_record(t, json_build_object('topic', 'copy' || n, 'ordinal', -n,
       'replica', true, 'synced_at', now(), ${columns}))).*
     FROM agora.topics t, generate_series(1, $1::int) n WHERE t.topic = 'pattern'`,
    PEER_LIMITS.replicas,
  );
}
const empty = (node: BedNode) => sql(node, `DELETE FROM agora.topics WHERE topic LIKE 'copy%'`);

test('there is room for so many copies from each node that sends them, whoever they belong to', async () => {
  await beta.agora('consensus_create', { topic: 'pattern', options: ['yes', 'no'], agentId: 'ann' });
  const copy = await copyAt(alpha, await opened('one-more'));
  await filled(beta, `'owner', 'alpha', 'brought_by', 'gamma'`);
  expect(await sayTo(between, [gamma, beta], ['topic.push', copy])).toEqual(
    expect.objectContaining({ refused: 'quota' }),
  );
  expect(await alpha.agora('agora_push', { node: 'beta', topic: 'one-more' })).toMatchObject({ created: true });
  await empty(beta);
});

test('a family fetches so many, and takes no room from another', async () => {
  const topic = await opened('fetched');
  await filled(beta, `'owner', 'alpha', 'family', 'greedy'`);
  const pull = { node: 'alpha', topic };
  expect(await as(beta, 'greedy', 'agora_pull', pull)).toMatchObject({ reason: 'quota', code: 'E_QUOTA' });
  expect(await as(beta, 'modest', 'agora_pull', pull)).toMatchObject({ pulled: true, created: true });
  await empty(beta);
});

test('copies that nobody has synced for long are freed with all that belongs to them', async () => {
  const topic = await opened('old', { minQuorum: 1 });
  const fresh = await opened('fresh');
  await alpha.agora('consensus_vote', { topic, agentId: 'ann', choice: 'yes' });
  for (const each of [topic, fresh]) await beta.agora('agora_pull', { node: 'alpha', topic: each });
  await sql(
    beta,
    `UPDATE agora.topics SET synced_at = now() - interval '31 days' WHERE topic IN ($1, $2)`,
    topic,
    fresh,
  );
  await beta.deps().ledgers.sweepReplicas();
  const left = await sql(
    beta,
    `SELECT topic FROM agora.topics WHERE topic IN ($1, $2) UNION ALL SELECT topic FROM agora.ballot_entries WHERE topic = $1`,
    topic,
    fresh,
  );
  expect(left.rows).toEqual([{ topic: fresh }]);
  await sql(beta, `UPDATE agora.topics SET synced_at = now() - interval '121 days' WHERE topic = $1`, fresh);
  await beta.deps().ledgers.sweepReplicas();
  expect((await sql(beta, 'SELECT 1 FROM agora.topics WHERE topic = $1', fresh)).rows).toEqual([]);
  expect(await beta.agora('agora_pull', { node: 'alpha', topic })).toMatchObject({ created: true, status: 'passed' });
});

test('a copy of a sealed topic tells how many have voted and has the hash of its owner, and believes nobody else', async () => {
  const topic = await opened('sealed', { sealed: true });
  for (const agentId of ['ann', 'ben']) await alpha.agora('consensus_vote', { topic, agentId, choice: 'yes' });
  const { hash } = await alpha.agora('consensus_tally', { topic });
  expect(await beta.agora('agora_pull', { node: 'alpha', topic })).toMatchObject({ hash, adopted: 0 });
  expect(await beta.agora('consensus_tally', { topic })).toMatchObject({ hash, votes: 2, counts: null });
  expect(await gamma.agora('agora_pull', { node: 'beta', topic })).toMatchObject({ created: true });
  expect(await gamma.agora('consensus_tally', { topic })).toMatchObject({ votes: 0 });
});
