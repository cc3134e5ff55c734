/** Votes of the forum: on a thread, with their record in the ledger of money, one after the other. */
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

const cast = (who: Caller, voteId: unknown, choice = 'yes') => who.ok('forum_castVote', { voteId, choice });

verifies('forum:votes', async ({ place, caller, socket }) => {
  const { workspace, members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const thread = newName('t');
  const listener = await socket();
  await listener.subscribe({ events: ['forum:linked', 'vote:*', 'escrow:held'] });
  const wish = { proposal: 'Süße Suppe, zum Mittag?', thread, minQuorum: 2 };
  const headers = { 'idempotency-key': newName('key') };
  const opened = await ann.caller.ok('forum_vote', wish, { headers });
  const { voteId } = opened;
  expect(opened).toMatchObject({
    voted: true,
    topic: voteId,
    thread,
    tally: { topic: voteId, status: 'open', votes: 0 },
  });
  expect(voteId).toMatch(/^forum-[a-z0-9-]{1,48}-[0-9a-f]{32}$/);
  expect(await ann.caller.ok('forum_vote', wish, { headers, gateway: 1 })).toEqual(opened);

  const holdId = `forum:${String(voteId)}`;
  const condition = { type: 'forum-vote', topic: voteId, thread, author: ann.id };
  const open = await bob.caller.ok('forum_decisions', { thread });
  expect(open).toMatchObject({ ok: true, thread, topic: voteId, proposal: wish.proposal, author: ann.id, earlier: [] });
  expect(open).toMatchObject({ ledger: { status: 'open', ballot: ['yes', 'no'], minQuorum: 2 }, votes: [] });
  expect(open.holds).toEqual([{ holdId, held: true, condition }]);
  expect(['decision' in open, 'outcome' in open]).toEqual([false, false]);
  await caller().ok('escrow_status');

  expect(await cast(ann.caller, voteId)).toMatchObject({ cast: true, voteId, voter: ann.id, result: { votes: 1 } });
  expect(await cast(bob.caller, voteId)).toMatchObject({ result: { status: 'passed', winner: 'yes' } });
  const decided = await bob.caller.ok('forum_decisions', { thread });
  expect(decided).toMatchObject({ decision: { winner: 'yes', votes: 2, percentage: 100 }, outcome: 'yes' });
  expect(decided).toMatchObject({ holds: [{ holdId, held: false }], ledger: { status: 'passed' } });
  expect((decided.votes as Fields[]).map(({ voter, outcome }) => [voter, outcome])).toEqual([
    [ann.id, 'yes'],
    [bob.id, 'yes'],
  ]);
  await listener.until('the decision', ({ name, topic }) => name === 'vote:decided' && topic === voteId);
  const linked = listener.heard.filter(({ name, topic }) => name === 'forum:linked' && topic === voteId);
  expect(linked).toMatchObject([{ thread }]);
});

interface Links {
  readonly links: readonly Fields[];
  readonly nextCursor?: string;
}

async function linksOf(who: Caller, thread: string): Promise<Fields[]> {
  const found: Fields[] = [];
  let cursor: string | undefined;
  do {
    const page = await who.ok<Links>('forum_thread_links', { limit: 3, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.links.filter((link) => link.thread === thread));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

verifies('forum:threads', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'viewer');
  const ann = memberAt({ workspace: '', members }, 0);
  const thread = newName('t');
  expect(await caller().refused('E_FORUM_ABSENT', 'forum_decisions', { thread })).toMatchObject({ ok: false });
  const ask = { proposal: 'first', thread, minQuorum: 1 };
  const all = await Promise.all(
    Array.from({ length: 5 }, (_, gateway) => ann.caller.call('forum_vote', ask, { gateway })),
  );
  const opened = all.map((reply) => reply.body.result?.content as Fields);
  const refused = opened.filter(({ voted }) => voted !== true);
  expect(refused).toHaveLength(4);
  expect(refused[0]).toMatchObject({ voted: false, reason: 'thread_linked', code: 'E_THREAD_LINKED' });
  const first = opened.find(({ voted }) => voted === true)?.voteId;
  await cast(ann.caller, first);
  const { voteId: second } = await ann.caller.ok('forum_vote', { ...ask, proposal: 'second' });
  const now = await caller().ok('forum_decisions', { thread });
  expect(now).toMatchObject({ topic: second, proposal: 'second', earlier: [first], ledger: { status: 'open' } });
  expect(await linksOf(caller(), thread)).toMatchObject([
    { topic: second, proposal: 'second', state: 'open', status: 'open' },
    { topic: first, proposal: 'first', state: 'decided', status: 'passed', decidedAt: expect.any(Number) as number },
  ]);
  expect(Number((await caller().ok('forum_status')).openVotes)).toBeGreaterThan(0);
});

verifies('forum:votes:hidden', async ({ place, caller, socket }) => {
  const { workspace, members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const { token } = await caller().ok('svc_habitat_mintToken', { agentId: stranger.id });
  const outside = await socket({ auth: { token: String(token) } });
  await outside.subscribe({ events: ['forum:linked', 'vote:*'] });
  const [thread, absent] = [newName('t'), newName('t')];
  const scope = { owner: `workspace:${workspace}` };
  const before = await stranger.caller.ok('forum_status');
  const { voteId } = await ann.caller.ok('forum_vote', { proposal: 'secret', thread, scope });
  const post = await ann.caller.ok('forum_publish', { title: 'x', content: 'y', workspace });
  const { id: onPost } = post.publication as Fields;
  await ann.caller.ok('forum_vote', { proposal: 'open to all but who sees no post', thread: onPost });
  const text = async (who: Caller, tool: string, args: Fields, name: string) =>
    (await who.call(tool, args)).text.replaceAll(name, '…').replace(/"requestId":"[^"]*"/, '');
  for (const who of [stranger.caller, caller()]) {
    const hidden = await text(who, 'forum_decisions', { thread }, thread);
    expect(hidden).toBe(await text(who, 'forum_decisions', { thread: absent }, absent));
    expect(hidden).toContain('E_FORUM_ABSENT');
    await who.refused('E_FORUM_ABSENT', 'forum_decisions', { thread: onPost });
    expect(await linksOf(who, thread)).toEqual([]);
  }
  const none = 'forum-x-0123456789abcdef0123456789abcdef';
  const asked = (id: string) => text(stranger.caller, 'forum_castVote', { voteId: id, choice: 'yes' }, id);
  expect(await asked(String(voteId))).toBe(await asked(none));
  await stranger.caller.refused('E_FORUM_ABSENT', 'forum_vote', { proposal: 'x', thread: onPost });
  expect(await bob.caller.ok('forum_decisions', { thread })).toMatchObject({ topic: voteId });
  expect(await linksOf(bob.caller, thread)).toHaveLength(1);
  const after = await stranger.caller.ok('forum_status');
  expect(Number(after.threads)).toBeGreaterThanOrEqual(Number(before.threads));

  await cast(ann.caller, voteId);
  await cast(bob.caller, voteId);
  const { voteId: last } = await stranger.caller.ok('forum_vote', { proposal: 'the last', thread: newName('t') });
  await outside.until('the last', ({ topic }) => topic === last);
  expect(outside.heard.filter(({ topic }) => topic === voteId)).toEqual([]);
});

verifies('forum:votes:refused', async ({ place, caller }) => {
  const { workspace, members } = await createMembers(place, 'viewer', 'viewer');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const stranger = memberAt(await createMembers(place, 'viewer'), 0);
  const ask = { proposal: 'x' };
  const noVote = (who: Caller, code: string, more: Fields = {}) => who.refused(code, 'forum_vote', { ...ask, ...more });
  expect(await noVote(caller(), 'E_NO_AGENT')).toMatchObject({ voted: false, reason: 'no_agent' });
  expect(await noVote(ann.caller, 'E_DEADLINE', { deadline: 1 })).toMatchObject({ reason: 'deadline' });
  await noVote(stranger.caller, 'E_SCOPE', { scope: { owner: `workspace:${workspace}` } });
  await ann.caller.fails('FORBIDDEN', 'forum_vote', { ...ask, agentId: bob.id });
  const scope = { owner: `workspace:${workspace}`, visibility: 'public' };
  const { voteId } = await ann.caller.ok('forum_vote', { ...ask, scope, minQuorum: 1 });
  const noBallot = (who: Caller, code: string, choice = 'yes', id = voteId) =>
    who.refused(code, 'forum_castVote', { voteId: id, choice });
  expect(await noBallot(stranger.caller, 'E_SCOPE')).toMatchObject({ cast: false, reason: 'scope' });
  await noBallot(caller(), 'E_NO_AGENT');
  await noBallot(ann.caller, 'E_OUTCOME', 'maybe');
  await noBallot(ann.caller, 'E_TOPIC_ABSENT', 'yes', 'forum-none');
  await ann.caller.fails('FORBIDDEN', 'forum_castVote', { voteId, choice: 'yes', agentId: bob.id });
  await caller().ok('trust_record', { entityId: bob.id, type: 'quarantine' });
  await caller().refused('E_QUARANTINED', 'forum_castVote', { voteId, choice: 'yes', agentId: bob.id });
  await cast(ann.caller, voteId);
  await noBallot(ann.caller, 'E_ALREADY_VOTED');
  await caller().ok('trust_record', { entityId: bob.id, type: 'release' });
  expect(await noBallot(bob.caller, 'E_CLOSED')).toMatchObject({ cast: false, reason: 'closed', status: 'passed' });
});
