/** In whose name a node acts here: what the operator says as long as that is said, and never as one of this node by its own word. */
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, type NodesBed, openNodes } from '../../testing/node-bed.ts';
import { copyAt, sayTo, signAs } from '../../testing/peer-voice.ts';

let bed: NodesBed<'alpha' | 'beta'>;
let between: Between;
let alpha: BedNode;
let beta: BedNode;
let made = 0;

beforeAll(async () => {
  bed = await openNodes(['alpha', 'beta']);
  ({ between } = bed);
  ({ alpha, beta } = bed.nodes);
});

afterAll(() => bed.stop());

const join = (userId: string) =>
  alpha.habitat('svc_habitat_addRole', { userId, workspaceId: 'default', role: 'editor' });
const named = (agentId: string) => ({ SVC_NODE_PEERS: JSON.stringify([{ name: 'beta', agentId }]) });

/** A topic of alpha that only members of its workspace see. */
async function hidden(): Promise<string> {
  const topic = `hidden-${(made += 1)}`;
  await join('wim');
  const scope = { owner: 'workspace:default' };
  const wish = { topic, options: ['yes', 'no'], agentId: 'wim', scope, minQuorum: 5 };
  expect(await alpha.agora('consensus_create', wish)).toMatchObject({ topic });
  return topic;
}

async function asked(type: string, body: object): Promise<Fields | 'silence'> {
  const answer = await sayTo(between, [beta, alpha], [type, body]);
  if (answer === 'silence') return answer;
  const { re: _re, ...said } = answer;
  return said;
}

const sees = (topic: string) => asked('topic.get', { topic, afterSeq: 0 });

async function agentOfBeta(): Promise<unknown> {
  const { peers } = (await alpha.agora('agora_nodes', {})) as { peers: Fields[] };
  return peers.find(({ name }) => name === 'beta')?.['agentId'];
}

test('a ballot for what its sender may not see is one for nothing, in whose name it may come', async () => {
  const topic = await hidden();
  const copy = await copyAt(alpha, topic);
  for (const voter of ['wim', 'beta-agent', 'nobody']) {
    const said = signAs(beta, copy, { voter, outcome: 'yes' });
    const nothing = { ...said, ballot: { ...said.ballot, topic: 'nothing' } };
    expect(await asked('ballot.cast', said)).toEqual(await asked('ballot.cast', nothing));
  }
});

test('a node that took a name which becomes one of this node sees nothing by it', async () => {
  const topic = await hidden();
  await join('beta-agent');
  expect(await sees(topic)).toEqual({ absent: true });
  expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({ code: 'E_SCOPE' });
  await alpha.restart(named('beta-agent'));
  expect(await sees(topic)).toMatchObject({ header: { topic } });
  await alpha.restart();
  expect(await sees(topic)).toEqual({ absent: true });
});

test('what the operator does not say any more does not hold any more', async () => {
  const topic = await hidden();
  await alpha.restart(named('wim'));
  expect(await sees(topic)).toMatchObject({ header: { topic } });
  await alpha.restart(named('wim'));
  expect(await agentOfBeta()).toBe('wim');
  await alpha.restart();
  expect(await sees(topic)).toEqual({ absent: true });
  await join('ruth');
  await alpha.restart(named('ruth'));
  await alpha.restart(named('nobody-here'));
  expect(await agentOfBeta()).toBe('nobody-here');
  expect(await sees(topic)).toEqual({ absent: true });
});
