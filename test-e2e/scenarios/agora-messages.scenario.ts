/** Messages: their numbers, who reads them, whom they reach, and what the registry says in the channels of agents. */
import { expect } from 'vitest';
import { type Caller, type Fields, refusalOf, type Reply } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

const CROWD = 100;

const say = (who: Caller, channel: string, content = 'x') => who.ok('msg_send', { channel, content });
const messagesIn = async (who: Caller, channel: string, gateway = 0) =>
  (await who.ok('msg_list', { channel, limit: 1000 }, { gateway })) as unknown as {
    messages: (Fields & { seq: number; content: string; from: string })[];
    lastSeq: number;
  };

async function listen({ place, caller, socket }: Scenario, id: string): Promise<EventSocket> {
  const { token } = await caller().ok('svc_habitat_mintToken', { agentId: id });
  const listener = await socket({ gateway: place.gateways.length - 1, auth: { token: String(token) } });
  expect(await listener.subscribe({ events: ['msg:*'] })).toMatchObject({ ok: true });
  return listener;
}

verifies('messages:order', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'viewer', 'viewer');
  const channel = newName('crowd');
  const said = await Promise.all(
    Array.from({ length: CROWD }, (_, n) =>
      memberAt({ workspace: '', members }, n % 2).caller.ok(
        'msg_send',
        { channel, content: `m${n}` },
        { gateway: n % 3 },
      ),
    ),
  );
  const all = Array.from({ length: CROWD }, (_, n) => n + 1);
  expect(said.map(({ seq }) => Number(seq)).sort((a, b) => a - b)).toEqual(all);
  const read = await messagesIn(caller(), channel);
  expect(read.messages.map(({ seq }) => seq)).toEqual(all);
  for (const gateway of [1, 2]) expect(await messagesIn(caller(), channel, gateway)).toEqual(read);
  const bySeq = new Map(said.map((one) => [Number(one.seq), one]));
  for (const { seq, id, at } of read.messages) expect(bySeq.get(seq)).toMatchObject({ id, at });
});

/** The reply without what differs between any two calls. */
function blank({ status, text }: Reply, channel: string): string {
  return `${status} ${text.replaceAll(channel, '…').replace(/"requestId":"[^"]*"/, '')}`;
}

verifies('messages:hidden', async (scenario) => {
  const { place, caller } = scenario;
  const { workspace, members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const [inside, outside] = [await listen(scenario, bob.id), await listen(scenario, stranger.id)];
  const [inbox, ops, open] = [`agent:${bob.id}`, `ws:${workspace}:ops`, newName('open')];
  await say(ann.caller, inbox);
  await say(ann.caller, ops);
  expect((await messagesIn(bob.caller, inbox)).messages).toHaveLength(1);
  expect((await messagesIn(bob.caller, ops)).messages).toHaveLength(1);
  expect((await messagesIn(ann.caller, inbox)).messages).toEqual([]);

  const absent = (channel: string): string => channel.replace(/[^:]*(?=$|:ops)/, (name) => `${name.slice(0, -1)}_`);
  const asked: readonly (readonly [string, Fields])[] = [
    ['msg_list', {}],
    ['msg_list', { after: 0, limit: 1 }],
    ['msg_subscribe', {}],
    ['msg_subscribe', { value: false }],
  ];
  for (const channel of [inbox, ops]) {
    for (const [tool, args] of asked) {
      const [hidden, missing] = [channel, absent(channel)];
      const of = async (name: string) => blank(await stranger.caller.call(tool, { channel: name, ...args }), name);
      expect(await of(hidden)).toBe(await of(missing));
    }
  }
  for (const channel of [ops, absent(ops), `agents:${workspace}`, `ws:${workspace}`]) {
    const reply = await stranger.caller.call('msg_send', { channel, content: 'x' });
    expect(refusalOf(reply, 'E_CHANNEL_ABSENT', 'msg_send')).toMatchObject({ sent: false });
  }
  await stranger.caller.refused('E_CHANNEL_ABSENT', 'msg_subscribe', { channel: ops });
  const { channels } = (await stranger.caller.ok('msg_list', { limit: 1000 })) as unknown as { channels: Fields[] };
  expect(channels.filter(({ channel }) => [inbox, ops].includes(String(channel)))).toEqual([]);

  await say(ann.caller, open);
  for (const one of [inside, outside]) await one.until('the last one', ({ channel }) => channel === open);
  expect(inside.heard.map(({ channel }) => channel)).toEqual([inbox, ops, open]);
  expect(outside.heard.filter(({ channel }) => [inbox, ops].includes(String(channel)))).toEqual([]);
  expect(inside.heard[0]).not.toHaveProperty('content');
  expect((await messagesIn(caller({ key: place.key }), inbox)).messages).toHaveLength(1);
});

verifies('messages:actor', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace: '', members }, 0), memberAt({ workspace: '', members }, 1)];
  const channel = newName('c');
  await ann.caller.fails('FORBIDDEN', 'msg_send', { channel, content: 'x', from: bob.id });
  await ann.caller.fails('FORBIDDEN', 'msg_subscribe', { channel, agentId: bob.id });
  await caller().refused('E_NO_AGENT', 'msg_send', { channel, content: 'x' });
  await caller().refused('E_NO_AGENT', 'msg_subscribe', { channel });
  expect((await messagesIn(caller(), channel)).messages).toEqual([]);
  expect(await caller().ok('msg_send', { channel, content: 'x', from: bob.id })).toMatchObject({
    seq: 1,
    from: bob.id,
  });
});

verifies('messages:delivered', async (scenario) => {
  const { place, caller } = scenario;
  const { workspace, members } = await createMembers(place, 'viewer', 'editor');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  // With a role elsewhere she stays somebody when she loses the one here.
  const elsewhere = await createMembers(place);
  await caller().ok('svc_habitat_addRole', { workspaceId: elsewhere.workspace, userId: ann.id, role: 'viewer' });
  const [hers, his] = [await listen(scenario, ann.id), await listen(scenario, bob.id)];
  const [c1, ops, last] = [newName('c'), `ws:${workspace}:ops`, newName('last')];
  const subscribe = { channel: c1, handler: 'h1' };
  const subscribed = { subscribed: true, channel: c1, event: 'msg:delivered', handler: 'h1', fromSeq: 1 };
  expect(await ann.caller.ok('msg_subscribe', subscribe)).toEqual(subscribed);
  await say(bob.caller, c1);
  expect(await ann.caller.ok('msg_subscribe', subscribe)).toEqual(subscribed);
  await ann.caller.ok('msg_subscribe', { channel: ops, handler: 'h2' });
  await say(bob.caller, ops);
  await hers.until('what ops say', ({ name, channel }) => name === 'msg:delivered' && channel === ops);
  await ann.caller.ok('msg_list', { channel: ops });
  await caller().ok('svc_habitat_removeRole', { workspaceId: workspace, userId: ann.id, role: 'viewer' });
  await say(bob.caller, ops);
  await caller().ok('msg_subscribe', { channel: c1, agentId: ann.id, value: false });
  await say(bob.caller, c1);
  await say(bob.caller, last);
  for (const one of [his, hers]) await one.until('the last one', ({ channel }) => channel === last);
  const delivered = ({ heard }: EventSocket) =>
    heard.filter(({ name }) => name === 'msg:delivered').map(({ channel, seq, handler }) => [channel, seq, handler]);
  expect(delivered(hers)).toEqual([
    [c1, 1, 'h1'],
    [ops, 1, 'h2'],
  ]);
  expect(delivered(his)).toEqual([]);
  expect(hers.heard.every((event) => !('parties' in event) && event.id.startsWith('evt_'))).toBe(true);
});

const inboxOf = async ({ caller }: WorkspaceMember, channel: string): Promise<string[]> =>
  (await messagesIn(caller, channel)).messages.map(({ from, content }) => `${from}: ${content}`);

verifies('messages:inboxes', async ({ place, caller }) => {
  const { workspace, members } = await createMembers(place, 'admin', 'viewer');
  const [admin, viewer] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const { id: broadcast } = await admin.caller.ok('svc_agents_broadcast', { workspace, message: 'the build is green' });
  const operator = caller();
  const { agentId } = await operator.ok('agent_spawn', { team: newName('t').replaceAll('-', ''), name: 'worker' });
  const tasks = Array.from({ length: 5 }, (_, n) => `task ${n}`);
  for (const task of tasks) await operator.ok('svc_agents_delegate_mcp', { id: agentId, task });
  const { token } = await operator.ok('svc_habitat_mintToken', { agentId });
  const worker = { id: String(agentId), caller: caller({ key: null, headers: { 'x-habitat-token': String(token) } }) };
  const arrived = async (who: WorkspaceMember, channel: string, count: number) => {
    await waitFor(async () => (await inboxOf(who, channel)).length >= count, { what: `messages in ${channel}` });
    return inboxOf(who, channel);
  };
  expect(await arrived(viewer, `agents:${workspace}`, 1)).toEqual([`${admin.id}: the build is green`]);
  expect(await arrived(worker, `agent:${String(agentId)}`, tasks.length)).toEqual(
    tasks.map((task) => `operator: ${task}`),
  );
  expect(String(broadcast)).toMatch(/^msg_/);
  await viewer.caller.refused('E_CHANNEL_ABSENT', 'msg_send', { channel: `agents:${workspace}`, content: 'x' });
  expect(await inboxOf(viewer, `agent:${String(agentId)}`)).toEqual([]);
});
