/** Posts on the real database: announced once, bounded, in pages that fit. */
import { AGORA } from '@svc/contract/operations.agora.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';
import { MAX_POSTS } from './post-store.ts';

const tests = await agoraTests();
const { client } = tests;
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);

interface Page {
  readonly publications: readonly { readonly id: string }[];
  readonly nextCursor?: string;
}
const list = async (args: Record<string, unknown>) => (await tests.bed.call('forum_list', args)) as unknown as Page;

test('what another service announces is one post, however often and at once it is sent', async () => {
  const agora = createOperationClient(tests.bed.platform, AGORA, 'market');
  const post = { ref: 'p1', title: 'news', content: 'x', tags: ['told'], workspace: null, author: null };
  const answers = await Promise.all(Array.from({ length: 5 }, () => agora.post(post)));
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  expect((await list({ tag: 'told' })).publications.map(({ id }) => id)).toEqual([answers[0]?.id]);
});

const insert = (count: number, tag: string, bytes: number) =>
  sql(
    `INSERT INTO agora.posts (id, title, content, tags, author, family, created_at)
     SELECT 'pub_' || $2 || lpad(n::text, 6, '0'), 'x', repeat('x', $3::int), ARRAY[$2], $2, $2, now()
     FROM generate_series(1, $1::int) n`,
    count,
    tag,
    bytes,
  );

test('a page ends before it is too large, and the next one goes on from there', async () => {
  await insert(40, 'large', 65_536);
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
    const page = await list({ tag: 'large', limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.publications.length).toBeLessThan(20);
    ids.push(...page.publications.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(new Set(ids).size).toBe(40);
  expect(ids).toEqual([...ids].sort().reverse());
});

test('one family has so many posts, and no more', async () => {
  await insert(MAX_POSTS, 'greedy', 1);
  const post = { title: 'x', content: 'x', workspace: '' };
  expect(await tests.bed.call('forum_publish', post, 'greedy')).toMatchObject({ published: false, code: 'E_QUOTA' });
  expect(await tests.bed.call('forum_publish', post, 'modest')).toMatchObject({ published: true });
});

test('a session is there for five minutes after its last call, and a hundred of one principal are', async () => {
  expect(await tests.bed.call('forum_enter', {}, 'ann')).toMatchObject({ entered: true, present: 1 });
  await sql(`UPDATE agora.presence SET seen_at = now() - interval '4 minutes'`);
  expect(await tests.bed.call('forum_status', {}, 'ann')).toMatchObject({ entered: true, present: 1 });
  await sql(`UPDATE agora.presence SET seen_at = seen_at - interval '4 minutes'`);
  expect(await tests.bed.call('forum_status', {}, 'ann')).toMatchObject({ entered: true, present: 1 });
  await sql(`UPDATE agora.presence SET seen_at = now() - interval '5 minutes 1 ms'`);
  expect(await tests.bed.call('forum_status', {}, 'ann')).toMatchObject({ entered: false, present: 0 });
  await sql(
    `INSERT INTO agora.presence SELECT 's' || n, 'ann', 'ann', null, now(), now() - interval '1 minute'
     FROM generate_series(1, 150) n`,
  );
  expect(await tests.bed.call('forum_enter', {}, 'ann')).toMatchObject({ present: 100 });
});
