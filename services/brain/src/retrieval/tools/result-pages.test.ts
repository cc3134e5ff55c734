/** Pages of search results while others write. */
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const FILES = 40;
const PAGE = 7;

const bed = await bedOfFile();
const node = await bed.start();
const { ok, no } = testCaller(() => node, null);

interface Row {
  readonly file: string;
  readonly lines: readonly number[];
  readonly score: number;
}

beforeAll(async () => {
  await ok('brain_push', { name: 'tides', create: true });
  for (let number = 0; number < FILES; number += 1) await write(number, '');
});

/** Longer files have lower scores. */
function write(number: number, more: string) {
  const content = `# Note ${number}\n\nThe tide turns${' at noon'.repeat(number)}. ${more}`;
  return ok('brain_write', { name: `n${number}`, content });
}

async function pages(args: Record<string, unknown>, between: (page: number) => Promise<void> = async () => {}) {
  const found: Row[][] = [];
  let cursor: unknown;
  do {
    const answer = await ok('svc_search', {
      query: 'tide noon',
      limit: PAGE,
      ...args,
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(answer['results'] as Row[]);
    cursor = answer['nextCursor'];
    if (cursor !== undefined) await between(found.length);
  } while (cursor !== undefined);
  return found;
}

const filesOf = (rows: readonly Row[]): string[] => rows.map(({ file }) => file);

test.each([
  { mode: 'hybrid', group: 'file' },
  { mode: 'plain', group: 'file' },
  { mode: 'hybrid', group: 'passage' },
  { mode: 'semantic', group: 'file' },
])('the pages of $mode by $group are the whole answer, cut', async (way) => {
  const whole = (await ok('svc_search', { query: 'tide noon', limit: 100, ...way }))['results'] as Row[];
  const found = await pages(way);
  expect(found.flat()).toEqual(whole);
  expect(found.slice(0, -1).map(({ length }) => length)).toEqual(Array.from({ length: found.length - 1 }, () => PAGE));
});

test.each(['file', 'passage'])(
  'writes between pages of each %s repeat and skip nothing that did not change',
  async (group) => {
    const before = filesOf((await pages({ group })).flat());
    const changed = new Set<string>();
    const found = await pages({ group }, async (page) => {
      // The words become rarer or commoner, files of later pages come to the front, and shown ones go.
      const [late, gone] = [FILES - page, page];
      for (const name of [`n${late}.md`, `n${gone}.md`, `other${page}.md`]) changed.add(name);
      await write(late, 'Tide, tide, tide and noon.');
      await ok('brain_write', { name: `other${page}`, content: `Noon.${' Noon tide.'.repeat(page)}` });
      await ok('brain_delete_file', { name: `n${gone}` });
    });
    const unchanged = filesOf(found.flat()).filter((file) => !changed.has(file));
    expect(unchanged.toSorted()).toEqual(before.filter((file) => !changed.has(file)).toSorted());
  },
);

test('a cursor of another search is refused, and so is one where there are no pages', async () => {
  const { nextCursor } = await ok('svc_search', { query: 'tide noon', limit: PAGE });
  const problem = { code: 'VAF_INPUT_INVALID' };
  for (const args of [
    { query: 'tide' },
    { mode: 'plain' },
    { group: 'passage' },
    { category: 'notes' },
    { mode: 'hyde' },
  ])
    expect(await no('svc_search', { query: 'tide noon', cursor: nextCursor, ...args })).toMatchObject(problem);
  expect(await no('svc_search', { query: 'tide noon', cursor: 'sanything' })).toMatchObject(problem);
  expect(await ok('svc_search', { query: 'tide noon', cursor: nextCursor, limit: 2 })).toMatchObject({
    nextCursor: expect.any(String) as string,
  });
});

test('what is all shown has no further page', async () => {
  expect(await ok('svc_search', { query: 'tide noon', limit: 100 })).not.toHaveProperty('nextCursor');
  expect(await ok('svc_search', { query: 'zzyzx', limit: 1 })).not.toHaveProperty('nextCursor');
});
