/** Pages of topics on the real database. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgoraBed, openAgoraBed } from '../../testing/agora-bed.ts';

/** Their ordinals have one, two and three digits. */
const TOPICS = 105;
const database = await migratedDatabase();
let bed: AgoraBed;

beforeAll(async () => {
  bed = await openAgoraBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

interface Page {
  readonly topics: readonly { readonly topic: string }[];
  readonly nextCursor?: string;
}

test.each([1000, 7])('topics come newest first and each once, in pages of %i', async (limit) => {
  const wish = { topic: 'first', options: ['yes', 'no'], agentId: 'ann' };
  await bed.call('consensus_create', wish);
  await database.pool.query(
    `INSERT INTO agora.topics SELECT (json_populate_record(t, json_build_object('topic', 't' || n, 'ordinal', n,
       'header', replace(t.header, '"topic":"first"', '"topic":"t' || n || '"')))).*
     FROM agora.topics t, generate_series(2, $1::int) n WHERE t.topic = 'first' ON CONFLICT DO NOTHING`,
    [TOPICS],
  );
  const listed: string[] = [];
  let cursor: string | undefined;
  do {
    const args = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const page = (await bed.call('consensus_list', args)) as unknown as Page;
    listed.push(...page.topics.map(({ topic }) => topic));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(listed).toEqual([...Array.from({ length: TOPICS - 1 }, (_, n) => `t${TOPICS - n}`), 'first']);
});
