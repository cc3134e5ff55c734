/** Pages of topics on the real database. */
import { beforeAll, expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';

/** Their ordinals have one, two and three digits. */
const TOPICS = 105;
const tests = await agoraTests();
const { database } = tests;

interface Page {
  readonly topics: readonly { readonly topic: string }[];
  readonly nextCursor?: string;
}

beforeAll(async () => {
  const wish = { topic: 'first', options: ['yes', 'no'], agentId: 'ann' };
  await tests.bed.call('consensus_create', wish);
  await database.pool.query(
    `INSERT INTO agora.topics SELECT (json_populate_record(t, json_build_object('topic', 't' || n, 'ordinal', n,
       'header', replace(t.header, '"topic":"first"', '"topic":"t' || n || '"')))).*
     FROM agora.topics t, generate_series(2, $1::int) n WHERE t.topic = 'first'`,
    [TOPICS],
  );
});

test.each([1000, 7])('topics come newest first and each once, in pages of %i', async (limit) => {
  const listed: string[] = [];
  let cursor: string | undefined;
  do {
    const args = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const page = (await tests.bed.call('consensus_list', args)) as unknown as Page;
    listed.push(...page.topics.map(({ topic }) => topic));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(listed).toEqual([...Array.from({ length: TOPICS - 1 }, (_, n) => `t${TOPICS - n}`), 'first']);
});
