/** What a page costs, and a look at what is due, follows what is found, not how much there is. */
import { filledDatabase, rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { SWEPT_AT_ONCE } from '@svc/runtime/row-sweep.ts';
import { expect, test } from 'vitest';
import { readPosts } from './forum/post-store.ts';
import { readOwed } from './forum/vote-store.ts';
import { listTopics, overdueTopics } from './ledger/store/topic-rows.ts';
import { KEPT_MESSAGES } from './messages/domain/channel.ts';
import { readChannels, sweepMessages } from './messages/message-rows.ts';

const MANY = 2000;
const LIMIT = 10;

const FILL = [
  `agora.channels (channel, kind, family, last_seq, last_at) SELECT 'c' || n, 'open', 'x', 1, now()`,
  `agora.posts (id, title, content, tags, family, created_at) SELECT 'pub_' || to_char(n, 'FM00000'), 'x', 'x', '{}', 'x', now()`,
  `agora.topics (topic, owner, replica, author, family, header, header_hash, sealed, deadline, created_at, hidden, status, sums, voided)
     SELECT 't' || n, 'here', false, 'x', 'x', '{}', '', false, now() + interval '1 day', now(), false,
       CASE WHEN n <= 100 THEN 'open' ELSE 'passed' END, '{}', '{}'`,
  `agora.forum_votes (topic, proposal, owed, tried_at) SELECT 't' || n, 'x', 'nothing', now() - interval '1 day'`,
];

const client = await filledDatabase([
  ...FILL.map((rows) => `INSERT INTO ${rows} FROM generate_series(1, ${MANY}) n`),
  `UPDATE agora.channels SET last_seq = ${KEPT_MESSAGES + 4 * SWEPT_AT_ONCE} WHERE channel = 'c1'`,
  `INSERT INTO agora.messages (channel, seq, message_id, sender, content, at, family)
     SELECT 'c1', n, 'm' || n, 'x', 'x', now(), 'x' FROM generate_series(1, ${4 * SWEPT_AT_ONCE}) n`,
]);

const nobody = { everything: false, agentId: null, workspaces: [] };
const LOOKS: Readonly<Record<string, (client: SqlClient) => Promise<unknown>>> = {
  'a page of channels': (tx) => readChannels(tx, nobody, { after: 'c15', limit: LIMIT }),
  'a page of posts': (tx) => readPosts(tx, { workspaces: [] }, { tag: null, after: 'pub_01500', limit: LIMIT }),
  'a page of open topics': (tx) => listTopics(tx, { status: 'open', thread: null }, { after: null, limit: LIMIT }),
  'topics that are overdue': (tx) => overdueTopics(tx, ['here'], null, LIMIT),
  'records of votes that are not where they belong': (tx) => readOwed(tx),
};

test.each(Object.entries(LOOKS))('%s cost what there is of them', async (_name, look) => {
  expect(await rowsLookedAt(client, look)).toBeLessThanOrEqual(5 * LIMIT);
});

test('a sweep of messages looks at those that go, however many are to go after them', async () => {
  expect(await rowsLookedAt(client, sweepMessages)).toBeLessThanOrEqual(2 * SWEPT_AT_ONCE);
});
