import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RemoteError } from '../git/remote-error.ts';
import { Transfers, type TransferWish } from './transfers.ts';

const now = () => performance.now();

/** A transfer that ends when told. */
function held<Result>(rest: Partial<TransferWish<Result>> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  let begun = 0;
  const wish: TransferWish<Result> = {
    owner: 'brain',
    key: 'fetch',
    remote: 'origin',
    waitMs: 5000,
    begin: ({ onProgress, signal }) => {
      begun += 1;
      signal.addEventListener('abort', () => reject(new Error('stopped')));
      onProgress({ stage: 'receiving', percent: 7 });
      return promise;
    },
    ...rest,
  };
  return { wish, resolve, reject, begun: () => begun };
}

describe('Transfers', () => {
  it('lets a call go when its time is over, and the transfer go on', async () => {
    const transfers = new Transfers(4, now);
    const { wish, resolve } = held<string>({ waitMs: 20 });
    const late = await transfers.run(wish);
    expect(late).toMatchObject({ state: 'under-way', progress: { stage: 'receiving', percent: 7 } });
    const again = held<string>({ waitMs: 20 });
    expect(await transfers.run(again.wish)).toMatchObject({ state: 'under-way' });
    expect(again.begun()).toBe(0);
    resolve('done');
    expect(late.state === 'under-way' && (await late.end)).toBe('done');
    const third = held<string>();
    third.resolve('fresh');
    expect(await transfers.run(third.wish)).toEqual({ state: 'ended', result: 'fresh' });
  });

  it('has one of a kind at a time; the next begins afresh, unless the remote is away', async () => {
    const transfers = new Transfers(4, now);
    const [first, second, third] = [held<number>(), held<number>(), held<number>()];
    const answers = [first, second].map(({ wish }) => transfers.run(wish));
    await sleep(5);
    expect([first.begun(), second.begun()]).toEqual([1, 0]);
    first.reject(new RemoteError('damaged', 'x'));
    await expect(answers[0]).rejects.toThrow('x');
    await sleep(5);
    expect(second.begun()).toBe(1);
    const waiting = transfers.run(third.wish);
    second.reject(new RemoteError('silent', 'away'));
    await expect(answers[1]).rejects.toThrow('away');
    await expect(waiting).rejects.toThrow('away');
    expect(third.begun()).toBe(0);
  });

  it('has a few at once, and leaves room beside a remote that hangs', async () => {
    const transfers = new Transfers(4, now);
    const hanging = Array.from({ length: 3 }, (_, index) => held<number>({ key: `h${index}`, remote: 'hanging' }));
    const answers = hanging.map(({ wish }) => transfers.run(wish));
    const others = Array.from({ length: 3 }, (_, index) => held<number>({ key: `o${index}`, remote: `o${index}` }));
    const otherAnswers = others.map(({ wish }) => transfers.run(wish));
    await sleep(5);
    expect(hanging.map(({ begun }) => begun())).toEqual([1, 1, 0]);
    expect(others.map(({ begun }) => begun())).toEqual([1, 1, 0]);
    const late = held<number>({ key: 'late', remote: 'late', waitMs: 10 });
    expect(await transfers.run(late.wish)).toEqual({ state: 'crowded' });
    for (const { resolve } of [...others, ...hanging]) resolve(1);
    await Promise.all([...answers, ...otherAnswers]);
    expect([late.begun(), hanging[2]?.begun(), others[2]?.begun()]).toEqual([0, 1, 1]);
  });

  it('ends what belongs to an owner, begun or not, and nothing else', async () => {
    const transfers = new Transfers(1, now);
    const [mine, queued, other] = [held<string>(), held<string>({ key: 'push' }), held<string>({ owner: 'other' })];
    const [first, second, third] = [mine, queued, other].map(({ wish }) => transfers.run(wish));
    await sleep(5);
    const ends = Promise.allSettled([first, second]);
    await transfers.stop('brain');
    expect(await ends).toMatchObject([{ reason: { message: 'stopped' } }, { reason: { code: 'SERVICE_UNAVAILABLE' } }]);
    expect(queued.begun()).toBe(0);
    other.resolve('untouched');
    expect(await third).toEqual({ state: 'ended', result: 'untouched' });
  });
});
