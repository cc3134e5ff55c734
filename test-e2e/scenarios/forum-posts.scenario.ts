/** Posts: where they may be, who sees them and who hears of them; a word to one agent; who is there. */
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { killed } from '../targets/service-process.ts';
import { EACH_APART, newName, ownTarget, type Scenario, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });

interface Posts {
  readonly publications: readonly Fields[];
  readonly tenancy: Fields;
  readonly nextCursor?: string;
}
const postsOf = (who: Caller, args: Fields) => who.ok<Posts>('forum_list', args);
const publish = async (who: Caller, args: Fields): Promise<Fields> =>
  (await who.ok('forum_publish', { title: 'x', content: 'y', ...args })).publication as Fields;

verifies('forum:place', async ({ place, caller }) => {
  const { workspace, members } = await createMembers(place, 'viewer');
  const ann = memberAt({ workspace, members }, 0);
  const elsewhere = (await createMembers(place, 'viewer')).workspace;
  const post = { title: 'x', content: 'y' };
  const refused = (reason: string) => ({ published: false, reason });
  const at = (who: Caller, where: string | null) => who.ok('forum_publish', { ...post, workspace: where });
  for (const who of [caller(), ann.caller]) {
    expect(await at(who, elsewhere)).toEqual(refused('workspace_denied'));
    for (const bad of ['../evil', 'a b', '9x', 'public'])
      expect(await at(who, bad)).toEqual(refused('invalid_workspace'));
    for (const none of ['', null]) expect(await at(who, none)).toMatchObject({ publication: { workspace: null } });
  }
  expect(await publish(caller(), {})).toMatchObject({ workspace: null, authorAgentId: null, anonymous: true });
  expect(await publish(ann.caller, { workspace })).toMatchObject({
    workspace,
    authorAgentId: ann.id,
    anonymous: false,
  });
  const userCtx = { userId: ann.id, workspace };
  expect(await publish(caller(), { userCtx })).toMatchObject({ workspace, authorAgentId: ann.id, anonymous: false });
  await caller({ key: place.key }).fails('VAF_INPUT_INVALID', 'forum_publish', { ...post, tags: [''] });
});

verifies('forum:tenancy', async ({ place, caller, socket }) => {
  const { workspace, members } = await createMembers(place, 'viewer');
  const ann = memberAt({ workspace, members }, 0);
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const tag = newName('tag');
  const listen = async (id: string) => {
    const { token } = await caller().ok('svc_habitat_mintToken', { agentId: id });
    const listener = await socket({ gateway: 1, auth: { token: String(token) } });
    expect(await listener.subscribe({ events: ['forum:published'] })).toMatchObject({ ok: true });
    return listener;
  };
  const [inside, outside] = [await listen(ann.id), await listen(stranger.id)];
  const hidden: Fields[] = [];
  for (const title of ['1', '2', '3']) hidden.push(await publish(ann.caller, { workspace, title, tags: [tag] }));
  const open = await publish(ann.caller, { workspace: '', title: 'open', tags: [tag] });
  const ids = (posts: Posts) => posts.publications.map(({ title }) => title);

  const anonymous = await postsOf(caller(), { tag });
  expect([ids(anonymous), anonymous.tenancy]).toMatchObject([
    ['open'],
    { workspace: null, anonymous: true, visible: 1 },
  ]);
  expect(ids(await postsOf(stranger.caller, { tag }))).toEqual(['open']);
  expect(ids(await postsOf(ann.caller, { tag }))).toEqual(['open', '3', '2', '1']);
  const first = await postsOf(ann.caller, { tag, limit: 3 });
  const second = await postsOf(ann.caller, { tag, limit: 3, cursor: first.nextCursor });
  expect([ids(first), ids(second), second.nextCursor]).toEqual([['open', '3', '2'], ['1'], undefined]);

  const [hiddenId] = hidden.map(({ id }) => String(id));
  for (const who of [caller(), stranger.caller]) {
    const texts = [];
    for (const id of [hiddenId, 'pub_0000']) texts.push((await who.call('forum_list', { id })).text);
    expect(texts[0]).toBe(texts[1]);
  }
  expect(await ann.caller.ok('forum_list', { id: hiddenId })).toMatchObject({
    found: true,
    publication: { title: '1' },
  });

  const role = { workspaceId: workspace, userId: stranger.id, role: 'viewer' };
  await caller().ok('svc_habitat_addRole', role);
  expect(ids(await postsOf(stranger.caller, { tag }))).toHaveLength(4);
  await caller().ok('svc_habitat_removeRole', role);
  expect(ids(await postsOf(stranger.caller, { tag }))).toEqual(['open']);

  for (const one of [inside, outside]) {
    await one.until('the open one', ({ publicationId }) => publicationId === open.id);
    expect(one.heard.every((event) => !('content' in event) && !('parties' in event))).toBe(true);
  }
  const heard = ({ heard: all }: typeof inside) =>
    all
      .filter(({ publicationId }) => [...hidden, open].some(({ id }) => id === publicationId))
      .map(({ title }) => title);
  expect([heard(inside), heard(outside)]).toEqual([['1', '2', '3', 'open'], ['open']]);
});

verifies('forum:message', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace: '', members }, 0), memberAt({ workspace: '', members }, 1)];
  const channel = `agent:${bob.id}`;
  await bob.caller.ok('msg_subscribe', { channel });
  const said = await ann.caller.ok('forum_message', { agent: bob.id, content: 'are you there?' });
  expect(said).toMatchObject({ sent: true, message: { seq: 1, channel, from: ann.id, to: bob.id } });
  const unread = async () => (await bob.caller.ok('forum_status')).unread;
  expect(await unread()).toBe(1);
  const { messages } = await bob.caller.ok<{ messages: Fields[] }>('msg_list', { channel });
  expect(messages).toMatchObject([{ seq: 1, from: ann.id, content: 'are you there?' }]);
  expect(await unread()).toBe(0);
  await ann.caller.refused('AGENT_NOT_FOUND', 'forum_message', { agent: newName('nobody'), content: 'x' });
  await caller().refused('E_NO_AGENT', 'forum_message', { agent: bob.id, content: 'x' });
});

async function entered({ place, socket, caller }: Scenario) {
  const { workspace, members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const { token } = await caller().ok('svc_habitat_mintToken', { agentId: bob.id });
  const listener = await socket({ auth: { token: String(token) } });
  await listener.subscribe({ events: ['forum:entered'] });
  return { ann, listener };
}

verifies('forum:presence', async (scenario) => {
  const { ann, listener } = await entered(scenario);
  expect(await ann.caller.ok('forum_status')).toMatchObject({ entered: false });
  const first = await ann.caller.ok('forum_enter');
  expect(first).toMatchObject({ entered: true, agentId: ann.id });
  const again = await ann.caller.ok('forum_enter', {}, { gateway: 1 });
  expect(again).toMatchObject({ since: first.since, workspace: first.workspace });
  expect(await ann.caller.ok('forum_status')).toMatchObject({ entered: true });
  expect(Number(first.present)).toBeGreaterThan(0);
  await listener.until('somebody who enters', ({ agentId }) => agentId === ann.id);
  expect(listener.heard.filter(({ agentId }) => agentId === ann.id)).toHaveLength(1);
});

verifies(
  'forum:kept',
  async ({ caller }) => {
    const tag = newName('tag');
    const published = await Promise.all(
      ['1', '2', '3', '4'].map((title) => publish(caller(), { title, tags: [tag], workspace: '' })),
    );
    const { place, everybody, of, whole } = target.get();
    await killed(place.kind === 'embedded' ? everybody : of('agora'));
    await whole();
    const { publications } = await postsOf(caller(), { tag });
    const byId = (a: Fields, b: Fields) => String(a.id).localeCompare(String(b.id));
    expect([...publications].sort(byId)).toEqual([...published].sort(byId));
  },
  { on: target },
);
