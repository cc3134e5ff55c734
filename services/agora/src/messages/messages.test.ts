/** Messages on the real database: numbered without gaps, handed over once, kept for a while. */
import { createOperationClient } from '@svc/runtime/operations.ts';
import { AGORA } from '@svc/contract/operations.agora.ts';
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { describe, expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';
import {
  KEPT_MESSAGES,
  MAX_CHANNELS,
  MAX_IN_INBOX,
  MAX_SUBSCRIPTIONS,
  MAX_SUBSCRIPTIONS_THERE,
} from './domain/channel.ts';
import { sweepMessages } from './message-rows.ts';

const tests = await agoraTests();
const { client } = tests;
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);

const say = (channel: string, content: string, from = 'ann') => tests.bed.call('msg_send', { channel, content, from });
const read = async (channel: string, more: Fields = {}) =>
  (await tests.bed.call('msg_list', { channel, ...more })) as unknown as {
    messages: { seq: number; content: string }[];
    lastSeq: number;
    nextCursor?: string;
  };

describe('a channel', () => {
  test('numbers a hundred messages at once from 1 to 100, each once', async () => {
    const said = await Promise.all(Array.from({ length: 100 }, (_, n) => say('crowd', `m${n}`)));
    const seqs = said.map(({ seq }) => Number(seq)).sort((a, b) => a - b);
    expect(seqs).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
    const { messages, lastSeq } = await read('crowd', { limit: 1000 });
    expect([messages.length, lastSeq]).toEqual([100, 100]);
    expect(messages.map(({ seq }) => seq)).toEqual([...messages.keys()].map((n) => n + 1));
  });

  test('is read from its end, or in pages from any number on', async () => {
    for (const n of [1, 2, 3, 4, 5]) await say('paged', `m${n}`);
    expect((await read('paged', { limit: 2 })).messages.map(({ seq }) => seq)).toEqual([4, 5]);
    const first = await read('paged', { after: 0, limit: 2 });
    expect(first.messages.map(({ seq }) => seq)).toEqual([1, 2]);
    const second = await read('paged', { limit: 2, cursor: first.nextCursor });
    expect(second.messages.map(({ seq }) => seq)).toEqual([3, 4]);
    const last = await read('paged', { limit: 2, cursor: second.nextCursor });
    expect(last.messages.map(({ seq }) => seq)).toEqual([5]);
    expect(last.nextCursor).toBeUndefined();
    await expect(tests.bed.call('msg_list', { channel: 'paged', cursor: 'eA' })).rejects.toThrow('VAF_INPUT_INVALID');
  });

  test('a page ends before it is too large', async () => {
    await sql(
      `INSERT INTO agora.channels (channel, kind, family, last_seq, last_at) VALUES ('large', 'open', 'x', 200, now())`,
    );
    await sql(
      `INSERT INTO agora.messages SELECT 'large', n, 'msg_l' || n, 'x', repeat('x', 16384), now(), 'x' FROM generate_series(1, 200) n`,
    );
    let cursor: string | undefined;
    const seqs: number[] = [];
    for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
      const page = await read('large', { limit: 1000, after: 0, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.messages.length).toBeLessThan(70);
      seqs.push(...page.messages.map(({ seq }) => seq));
      cursor = page.nextCursor;
    }
    expect(seqs).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
    expect((await read('large', { limit: 1000 })).messages.at(-1)?.seq).toBe(200);
  });

  test('answers a keyed call again as it did, whatever became of its reader since', async () => {
    const keyed = async (tool: string, args: Fields, idempotencyKey: string) => {
      const as = { subject: { agentId: 'ann', verified: true }, operator: false, principal: 'ann', idempotencyKey };
      return (await callTool(tests.bed.platform.bus, 'agora', tool, args, as)).fields;
    };
    const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { name: 'reader' });
    const word = { agent: String(agentId), content: 'once' };
    const sent = await keyed('forum_message', word, 'word');
    await tests.bed.of('habitat', 'agent_kill', { agentId: String(agentId) });
    expect(sent).toMatchObject({ sent: true });
    expect(await keyed('forum_message', word, 'word')).toEqual(sent);
    const gone = { sent: false, code: 'AGENT_NOT_FOUND' };
    expect(await keyed('forum_message', word, 'late')).toMatchObject(gone);

    await tests.bed.of('habitat', 'svc_habitat_createWorkspace', { workspaceId: 'later' });
    const role = { workspaceId: 'later', userId: 'ann', role: 'editor' };
    const note = { channel: 'ws:later:notes', content: 'x' };
    expect(await keyed('msg_send', note, 'early')).toMatchObject({ sent: false, code: 'E_CHANNEL_ABSENT' });
    await tests.bed.of('habitat', 'svc_habitat_addRole', role);
    expect(await keyed('msg_send', note, 'early')).toMatchObject({ sent: false, code: 'E_CHANNEL_ABSENT' });
    const first = await keyed('msg_send', note, 'in time');
    expect(first).toMatchObject({ sent: true, seq: 1 });
    await tests.bed.of('habitat', 'svc_habitat_removeRole', role);
    expect(await keyed('msg_send', note, 'in time')).toEqual(first);
    expect(await keyed('msg_send', note, 'again')).toMatchObject({ sent: false, code: 'E_CHANNEL_ABSENT' });
  });

  test('keeps so many messages and no older ones, and its numbers go on', async () => {
    const last = KEPT_MESSAGES + 3;
    await sql(
      `INSERT INTO agora.channels (channel, kind, family, last_seq, last_at) VALUES ('long', 'open', 'x', $1, now())`,
      last,
    );
    await sql(
      `INSERT INTO agora.messages SELECT 'long', n, 'msg_k' || n, 'x', 'x', now(), 'x' FROM generate_series(1, $1) n`,
      last,
    );
    await sql(`UPDATE agora.messages SET at = now() - interval '91 days' WHERE channel = 'long' AND seq <= 10`);
    expect((await read('long', { after: 0, limit: 1 })).messages.map(({ seq }) => seq)).toEqual([11]);
    expect(await sweepMessages(client)).toBe(10);
    expect(await sweepMessages(client)).toBe(0);
    const { channels } = (await tests.bed.call('msg_list', { limit: 1000 })) as { channels: Fields[] };
    expect(channels.find(({ channel }) => channel === 'long')).toMatchObject({ lastSeq: last, messages: last - 10 });
    expect(await say('long', 'on')).toMatchObject({ sent: true, seq: last + 1 });
  });
});

test('what another service hands over is one message, however often and at once it is sent', async () => {
  const agora = createOperationClient(tests.bed.platform, AGORA, 'habitat');
  const question = { ref: 'task_1', channel: 'agent:carried', from: 'operator', content: 'sweep the floor' };
  const answers = await Promise.all(Array.from({ length: 8 }, () => agora.send(question)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(await agora.send(question)).toEqual(answers[0]);
  expect(await agora.send({ ...question, ref: 'task_2' })).toMatchObject({ seq: 2 });
  expect((await read('agent:carried')).messages).toHaveLength(2);
});

test('one family begins so many channels, and no more', async () => {
  await sql(
    `INSERT INTO agora.channels (channel, kind, family, last_seq, last_at)
     SELECT 'quota' || n, 'open', 'greedy', 1, now() FROM generate_series(1, $1) n`,
    MAX_CHANNELS,
  );
  expect(await say('one-more', 'x', 'greedy')).toMatchObject({ sent: false, code: 'E_QUOTA' });
  expect((await read('one-more')).lastSeq).toBe(0);
  expect(await say('quota1', 'x', 'greedy')).toMatchObject({ sent: true, seq: 2 });
  const more = await tests.bed.call('msg_subscribe', { channel: 'one-more', agentId: 'greedy' });
  expect(more).toMatchObject({ subscribed: false, code: 'E_QUOTA' });
});

test('the channel of an agent that was killed keeps nobody from beginning another one', async () => {
  const { agentId: id } = await tests.bed.of('habitat', 'agent_spawn', { team: 'inboxes', name: 'worker' });
  await sql(
    `INSERT INTO agora.channels (channel, kind, family, last_seq, last_at)
     SELECT 'told' || n, 'open', 'teller', 1, now() FROM generate_series(2, $1) n`,
    MAX_CHANNELS,
  );
  expect(await say(`agent:${String(id)}`, 'a task', 'teller')).toMatchObject({ sent: true });
  expect(await say('agent:next', 'a task', 'teller')).toMatchObject({ sent: false, code: 'E_QUOTA' });
  await tests.bed.of('habitat', 'agent_kill', { id });
  await expect.poll(() => say('agent:next', 'a task', 'teller')).toMatchObject({ sent: true });
  expect(await say('agent:one-more', 'a task', 'teller')).toMatchObject({ sent: false, code: 'E_QUOTA' });
  expect((await read(`agent:${String(id)}`)).messages).toHaveLength(1);
});

test('a family and a channel have so many subscriptions, and no more', async () => {
  await sql(
    `INSERT INTO agora.subscriptions SELECT 'eager', 'c' || n, null, 1, 0, 'eager' FROM generate_series(1, $1) n`,
    MAX_SUBSCRIPTIONS,
  );
  const more = await tests.bed.call('msg_subscribe', { channel: 'c-more', agentId: 'eager' });
  expect(more).toMatchObject({ subscribed: false, code: 'E_QUOTA' });
  expect(await tests.bed.call('msg_subscribe', { channel: 'c1', agentId: 'eager', handler: 'h' })).toMatchObject({
    subscribed: true,
    handler: 'h',
    fromSeq: 1,
  });
});

test('what somebody spawned subscribes to a channel as one, so that a message there is not told a thousand times', async () => {
  const { agentId: root } = await tests.bed.of('habitat', 'agent_spawn', { team: 'many', name: 'root' });
  const subscribe = async (name: string) => {
    const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 'many', name, parent: root });
    return tests.bed.call('msg_subscribe', { channel: 'crowded' }, String(agentId), String(root));
  };
  for (let n = 0; n < MAX_SUBSCRIPTIONS_THERE; n += 1) {
    expect(await subscribe(`child-${n}`)).toMatchObject({ subscribed: true });
  }
  expect(await subscribe('one-more')).toMatchObject({ code: 'E_QUOTA', limit: MAX_SUBSCRIPTIONS_THERE });
  expect(await tests.bed.call('msg_subscribe', { channel: 'crowded' }, 'stranger')).toMatchObject({ subscribed: true });
});

test('agents that were killed take up no place in a channel', async () => {
  const { agentId: root } = await tests.bed.of('habitat', 'agent_spawn', { team: 'mortal', name: 'root' });
  const subscribed = async (name: string) => {
    const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 'mortal', name, parent: root });
    const answer = await tests.bed.call('msg_subscribe', { channel: 'mortal' }, String(agentId), String(root));
    return { agentId, ...answer };
  };
  const all: Fields[] = [];
  for (let n = 0; n < MAX_SUBSCRIPTIONS_THERE; n += 1) all.push(await subscribed(`child-${n}`));
  await tests.bed.of('habitat', 'agent_kill', { id: all[0]?.['agentId'] });
  let made = 0;
  await expect.poll(() => subscribed(`late-${(made += 1)}`)).toMatchObject({ subscribed: true });
});

test('who looks at the last messages alone has not read those before', async () => {
  const as = (tool: string, args: Fields) => tests.bed.call(tool, args, 'reader');
  const unread = async () => (await as('forum_status', {}))['unread'];
  await as('msg_subscribe', { channel: 'unread' });
  for (const n of [1, 2, 3, 4, 5]) await say('unread', `m${n}`);
  await as('msg_list', { channel: 'unread', limit: 1 });
  expect(await unread()).toBe(5);
  await as('msg_list', { channel: 'unread', after: 0, limit: 2 });
  expect(await unread()).toBe(3);
  await as('msg_list', { channel: 'unread', limit: 3 });
  expect(await unread()).toBe(0);
});

test('nobody pushes out of an inbox what others said there', async () => {
  await say('agent:bob', 'a task', 'boss');
  await sql(
    `INSERT INTO agora.messages SELECT 'agent:bob', n + 1, 'msg_i' || n, 'loud', 'x', now(), 'loud' FROM generate_series(1, $1) n`,
    MAX_IN_INBOX,
  );
  await sql(`UPDATE agora.channels SET last_seq = $1 WHERE channel = 'agent:bob'`, MAX_IN_INBOX + 1);
  expect(await say('agent:bob', 'x', 'loud')).toMatchObject({ sent: false, code: 'E_QUOTA', limit: MAX_IN_INBOX });
  expect(await say('agent:bob', 'another', 'boss')).toMatchObject({ sent: true, seq: MAX_IN_INBOX + 2 });
  expect((await read('agent:bob', { after: 0, limit: 1 })).messages).toMatchObject([{ content: 'a task' }]);
});

test('what the registry puts into inboxes arrives in its channels, each once, also what waited', async () => {
  const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 'carried', name: 'worker' });
  await sql(
    `INSERT INTO habitat.agent_tasks (task_id, agent_id, task, status, "by", at)
     VALUES ('task_old', $1, 'of yesterday', 'queued', 'ann', now() - interval '1 day')`,
    agentId,
  );
  await Promise.all(
    [1, 2].map((n) => tests.bed.of('habitat', 'svc_agents_delegate_mcp', { id: agentId, task: `task ${n}` })),
  );
  await tests.bed.of('habitat', 'svc_agents_broadcast', { workspace: 'org-carried', message: 'to all' });
  const left = () =>
    client.$queryRawUnsafe<unknown[]>(
      `SELECT 1 FROM habitat.agent_tasks WHERE carried_at IS NULL
       UNION ALL SELECT 1 FROM habitat.agent_messages WHERE carried_at IS NULL`,
    );
  await expect.poll(left).toEqual([]);
  // As after a kill between the message and its acknowledgement.
  await sql(`UPDATE habitat.agent_tasks SET carried_at = NULL`);
  await tests.bed.of('habitat', 'svc_agents_delegate_mcp', { id: agentId, task: 'the last' });
  // The two that were sent at once may come in either order.
  const tasks = async () => {
    const said = (await read(`agent:${String(agentId)}`)).messages.map(({ content }) => content);
    return [...said.slice(0, 1), ...said.slice(1, 3).sort(), ...said.slice(3)];
  };
  await expect.poll(tasks).toEqual(['of yesterday', 'task 1', 'task 2', 'the last']);
  expect((await read('agents:org-carried')).messages.map(({ content }) => content)).toEqual(['to all']);
});
