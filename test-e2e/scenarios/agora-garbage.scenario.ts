/** Calls of the tools of agora that are wrong, and calls that are almost right. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { garbage, inTurn, type KnownTool, nearlyRight, type RightCall } from '../instruments/garbage.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { shootAll } from '../instruments/shooting.ts';
import { AGORA_GARBAGE_REQUESTS } from '../settings.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget();
const OF_AGORA = /^(agora|consensus|forum|msg|event)_/;
const OPTIONS = ['yes', 'no'];

interface Ground {
  readonly workspace: string;
  readonly agentId: string;
  readonly topic: string;
  readonly thread: string;
}

function callsOfAgora({ workspace, agentId, topic, thread }: Ground): readonly RightCall[] {
  const abroad = { node: 'beta', topic };
  const right: Record<string, Fields> = {
    agora_vote: { ...abroad, outcome: 'yes', agentId },
    agora_pull: abroad,
    agora_push: abroad,
    agora_nodes: {},
    agora_sync_status: {},
    consensus_create: { topic: newName('t'), options: OPTIONS, minQuorum: 1000, scope: { owner: `agent:${agentId}` } },
    consensus_vote: { topic, choice: 'yes', agentId },
    consensus_tally: { topic },
    consensus_get: { topic, viewerId: agentId },
    consensus_list: { status: 'open', limit: 10 },
    forum_publish: { title: 'a title', content: 'some words', tags: ['one'], workspace },
    forum_list: { tag: 'one', limit: 10 },
    forum_decisions: { thread },
    forum_thread_links: { limit: 10 },
    forum_vote: { proposal: 'shall we', options: OPTIONS, minQuorum: 2, thread },
    forum_castVote: { voteId: topic, choice: 'no', agentId },
    forum_message: { agent: agentId, content: 'a word' },
    forum_enter: {},
    forum_status: {},
    msg_send: { channel: `ws:${workspace}:ops`, content: 'a word', from: agentId },
    msg_list: { channel: `ws:${workspace}:ops`, limit: 10, after: 1 },
    msg_subscribe: { channel: `agent:${agentId}`, handler: 'h1', value: true },
    event_tail: { max: 10, nameFilter: 'vote:*', module: 'agora' },
    event_sink_enable: { value: false },
    event_sink_stats: {},
  };
  return Object.entries(right).map(([name, args]) => ({ name, args }));
}

verifies(
  'agora:garbage',
  async ({ place, random, report }) => {
    const operator = new Caller(place);
    const home = await createMembers(place, 'admin');
    const { id: agentId, caller: member } = memberAt(home, 0);
    const topic = newName('topic');
    await operator.ok('consensus_create', { topic, options: OPTIONS, minQuorum: 1000, agentId });
    const calls = callsOfAgora({ workspace: home.workspace, agentId, topic, thread: newName('thread') });
    const { tools } = (await operator.get('/tools')).body as unknown as { tools: KnownTool[] };
    const ours = tools.filter(({ name }) => OF_AGORA.test(name));
    expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(ours.map(({ name }) => name)));
    const share = Math.ceil(AGORA_GARBAGE_REQUESTS / 4);
    const told: string[] = [];
    for (const user of [operator, member]) {
      const wrong = inTurn(ours.map((tool) => garbage([tool], 'default', random)));
      const almost = inTurn(
        calls.filter(({ args }) => Object.keys(args).length > 0).map((one) => nearlyRight([one], random)),
      );
      for (const shots of [wrong, almost]) told.push(await shootAll(user, shots, share));
    }
    for (const one of target.get().everybody) one.assertRunning();
    await operator.ok('consensus_vote', { topic, choice: 'yes', agentId: newName('voter') });
    for (const line of told) report(line);
  },
  { on: target, timeoutMs: 300_000 + AGORA_GARBAGE_REQUESTS * 20 },
);
