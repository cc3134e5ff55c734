import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { QUEUE_LIMITS, WriteQueue } from './queue.ts';

const FOREVER = Number.MAX_SAFE_INTEGER;

function recordingQueue() {
  const clock = { now: 0 };
  const batches: string[][] = [];
  let abandoned = 0;
  const queue = new WriteQueue<string, string>({
    now: () => clock.now,
    async runBatch(calls) {
      batches.push(calls.map(({ request }) => request));
      await turn();
      for (const call of calls) call.resolve(`done ${call.request}`);
    },
    onAbandoned: () => {
      abandoned += 1;
    },
  });
  return { queue, clock, batches, abandoned: () => abandoned };
}

describe('the write queue', () => {
  it('takes neighbours together and keeps the order around lone work', async () => {
    const { queue, batches } = recordingQueue();
    const done = await Promise.all([
      queue.enqueue('a', 1, FOREVER),
      queue.enqueue('b', 1, FOREVER),
      queue.alone(FOREVER, async () => {
        batches.push(['alone']);
        return 'lone';
      }),
      queue.enqueue('c', 1, FOREVER),
    ]);
    expect(batches).toEqual([['a', 'b'], ['alone'], ['c']]);
    expect(done).toEqual(['done a', 'done b', 'lone', 'done c']);
    await queue.settled();
    expect(queue.depth).toBe(0);
  });

  it('splits by calls and by bytes', async () => {
    const { queue, batches } = recordingQueue();
    const half = QUEUE_LIMITS.batchBytes / 2;
    await Promise.all([
      ...['a', 'b', 'c'].map((name) => queue.enqueue(name, half, FOREVER)),
      ...Array.from({ length: 300 }, (_, index) => queue.enqueue(`${index}`, 0, FOREVER)),
    ]);
    expect(batches.map(({ length }) => length)).toEqual([2, 256, 45]);
  });

  it('gives up on calls whose time passed while they waited, without effect', async () => {
    const { queue, clock, batches, abandoned } = recordingQueue();
    const slow = queue.alone(FOREVER, async () => {
      clock.now = 10;
    });
    const late = expect(queue.enqueue('late', 1, 10)).rejects.toMatchObject({ code: 'TIMEOUT' });
    const lateAlone = expect(queue.alone(5, async () => 'never')).rejects.toMatchObject({ code: 'TIMEOUT' });
    await Promise.all([slow, late, lateAlone, queue.enqueue('live', 1, 11)]);
    expect(batches).toEqual([['live']]);
    expect(abandoned()).toBe(2);
  });

  it('refuses more than may wait', async () => {
    const { queue } = recordingQueue();
    const waiting = Array.from({ length: QUEUE_LIMITS.waiting }, (_, index) => queue.enqueue(`${index}`, 0, FOREVER));
    await expect(queue.enqueue('too many', 0, FOREVER)).rejects.toMatchObject({ code: 'E_BUSY' });
    await Promise.all(waiting);
  });

  it('goes on after lone work that failed', async () => {
    const { queue } = recordingQueue();
    await expect(queue.alone(FOREVER, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await queue.enqueue('next', 1, FOREVER)).toBe('done next');
  });
});
