/** What reading threads sends to the database, counted: a time would say more of the machine. */
import type { Fields } from '@svc/testing/service-bed.ts';
import { type Traffic, watchTraffic } from '@svc/testing/traffic.ts';
import { beforeAll, expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';

const MANY = 40;
const tests = await agoraTests();
const { database } = tests;
let counted: ReturnType<typeof watchTraffic>;

beforeAll(async () => {
  counted = watchTraffic(tests.bed.platform);
});

/** The topic of a vote that the ballot of its author decides. */
async function decided(thread: string): Promise<string> {
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'x', thread, minQuorum: 1 }, 'ann');
  expect(await tests.bed.call('forum_castVote', { voteId, choice: 'yes' }, 'ann')).toMatchObject({ cast: true });
  return String(voteId);
}

/** The sweep of those whose time is over reads names alone. */
const TOPICS_READ = /^SELECT header,.* FROM agora\.topics/s;

async function sentFor(tool: string, args: Fields): Promise<{ readonly answer: Fields; readonly topics: number }> {
  let answer: Fields = {};
  const { statements }: Traffic = await counted(async () => {
    answer = await tests.bed.call(tool, args, 'ann');
  });
  return { answer, topics: statements.filter((text) => TOPICS_READ.test(text)).length };
}

test('threads with many votes take as many statements as one with a single vote', async () => {
  await decided('single');
  const single = await sentFor('forum_decisions', { thread: 'single' });
  const topics: string[] = [];
  for (let n = 0; n < MANY; n += 1) topics.unshift(await decided('busy'));
  const busy = await sentFor('forum_decisions', { thread: 'busy' });
  const [topic, ...earlier] = topics;
  expect(busy.answer).toMatchObject({ ok: true, topic, earlier, outcome: 'yes' });
  expect(busy.topics).toBe(single.topics);
  const links = await sentFor('forum_thread_links', {});
  expect(links.answer['links']).toHaveLength(MANY + 1);
  expect(links.topics).toBe(1);
});

const POST = `INSERT INTO agora.posts (id, title, content, tags, workspace, family, created_at)
  VALUES ($1, 'x', 'x', '{}', $2, 'x', now())`;
const PAST = `UPDATE agora.topics SET header = regexp_replace(header, '"deadline":\\d+', '"deadline":1') WHERE topic = $1`;

test('a vote whose time is over is closed as it is read, one on a post that the caller does not see is left out', async () => {
  const [open, hidden] = ['pub_open', 'pub_hidden'];
  await database.pool.query(POST, [open, null]);
  await database.pool.query(POST, [hidden, 'acme']);
  const before = await decided(open);
  const { voteId: late } = await tests.bed.call('forum_vote', { proposal: 'x', thread: open }, 'ann');
  await database.pool.query(PAST, [late]);
  const unseen = await decided('elsewhere');
  await database.pool.query('UPDATE agora.forum_votes SET thread = $2 WHERE topic = $1', [unseen, hidden]);

  const links = (await tests.bed.call('forum_thread_links', { limit: 2 }, 'ann'))['links'] as Fields[];
  expect(links).toMatchObject([
    { topic: late, thread: open, status: 'expired' },
    { topic: before, thread: open, status: 'passed' },
  ]);
  const decisions = await tests.bed.call('forum_decisions', { thread: open }, 'ann');
  expect(decisions).toMatchObject({ topic: late, earlier: [before], outcome: null });
  expect(await tests.bed.call('forum_decisions', { thread: hidden }, 'ann')).toMatchObject({ code: 'E_FORUM_ABSENT' });
});
