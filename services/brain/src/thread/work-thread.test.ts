import { expect, test } from 'vitest';
import type { FixtureQuestion } from '../../testing/work-thread.fixture.ts';
import { ThreadEnded, ThreadTooSlow, WorkThread } from './work-thread.ts';

const SCRIPT = new URL('../../testing/work-thread.fixture.ts', import.meta.url);
const startThread = (idleMs?: number) =>
  new WorkThread<FixtureQuestion, string>(SCRIPT, idleMs === undefined ? {} : { idleMs });
const counter = () => new Int32Array(new SharedArrayBuffer(4));

test('a bug is thrown where the answer is waited for, and the thread goes on', async () => {
  await using thread = startThread();
  const asked = [thread.ask({ say: 'a' }), thread.ask({ fail: 'no such thing' }), thread.ask({ say: 'b' })];
  const [first, bug, last] = await Promise.allSettled(asked);
  expect([first, last]).toEqual([
    { status: 'fulfilled', value: 'a' },
    { status: 'fulfilled', value: 'b' },
  ]);
  const { reason } = bug as PromiseRejectedResult;
  expect(reason).toBeInstanceOf(TypeError);
  expect((reason as Error).message).toBe('no such thing');
  expect((reason as Error).stack).toContain('work-thread.fixture');
});

test('a thread that died is started once more for what it had in hand; others keep their turn', async () => {
  await using thread = startThread();
  const [once, always] = [counter(), counter()];
  const asked = [
    thread.ask({ die: once, times: 1 }),
    thread.ask({ say: 'between' }),
    thread.ask({ die: always, times: 99 }),
    thread.ask({ say: 'behind' }),
  ];
  const [revived, between, dead, behind] = await Promise.allSettled(asked);
  expect(revived).toMatchObject({ value: 'alive after 1' });
  expect([between, behind]).toMatchObject([{ value: 'between' }, { value: 'behind' }]);
  expect((dead as PromiseRejectedResult).reason).toBeInstanceOf(ThreadEnded);
  expect(Atomics.load(always, 0)).toBe(2);
});

test('what takes longer than it was given is ended, and the next piece gets another thread', async () => {
  await using thread = startThread();
  await thread.ask({ say: 'started' });
  await expect(thread.ask({ spin: true }, 30)).rejects.toBeInstanceOf(ThreadTooSlow);
  expect(await thread.ask({ say: 'on' }, 30_000)).toBe('on');
});

test('closing ends what is in hand and what waits, without another thread', async () => {
  const thread = startThread();
  await thread.ask({ say: 'started' });
  const asked = Promise.allSettled([thread.ask({ spin: true }), thread.ask({ say: 'late' })]);
  await thread[Symbol.asyncDispose]();
  for (const { reason } of (await asked) as PromiseRejectedResult[]) expect(reason).toBeInstanceOf(ThreadEnded);
});

test('without work the thread ends; the next piece starts another', async () => {
  await using thread = startThread(1);
  expect(await thread.ask({ say: 'a' })).toBe('a');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await thread.ask({ say: 'b' })).toBe('b');
});
