import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns, repeatGathered, repeatSpaced, repeatWhileWanted, shareRun } from './turns.ts';

test('work under one key comes in turn, also after a failure; work under another does not wait', async () => {
  const inTurn = createTurns();
  const happened: string[] = [];
  const first = Promise.withResolvers<void>();
  const slow = inTurn('a', async () => {
    happened.push('first begins');
    await first.promise;
    happened.push('first fails');
    throw new Error('first');
  });
  const second = inTurn('a', async () => {
    happened.push('second');
    return 2;
  });
  await inTurn('b', async () => {
    happened.push('other');
  });
  expect(happened).toEqual(['first begins', 'other']);
  first.resolve();
  await expect(slow).rejects.toThrow('first');
  expect(await second).toBe(2);
  expect(happened).toEqual(['first begins', 'other', 'first fails', 'second']);
  expect(await inTurn('a', async () => 3)).toBe(3);
});

test('what is wanted while a round runs has a round of its own, and all that came until then shares it', async () => {
  const rounds: string[] = [];
  const first = Promise.withResolvers<void>();
  const repeated = repeatWhileWanted(async () => {
    rounds.push('round');
    if (rounds.length === 1) await first.promise;
  });
  repeated.kick();
  await Promise.resolve();
  for (let times = 0; times < 5; times += 1) repeated.kick();
  first.resolve();
  await repeated.flush();
  expect(rounds).toHaveLength(2);
  await repeated.flush();
  expect(rounds).toHaveLength(3);
});

test('a spaced round begins at once, the next one waits unless somebody waits for its end', async () => {
  let rounds = 0;
  const repeated = repeatSpaced(async () => {
    rounds += 1;
  }, 60_000);
  repeated.kick();
  await expect.poll(() => rounds).toBe(1);
  repeated.kick();
  await turnOfLoop();
  expect(rounds).toBe(1);
  await repeated.flush();
  expect(rounds).toBe(2);
});

test('a gathered round waits for more to come, unless somebody waits for its end, also from then on', async () => {
  let rounds = 0;
  const repeated = repeatGathered(async () => {
    rounds += 1;
  }, 60_000);
  repeated.kick();
  repeated.kick();
  await turnOfLoop();
  expect(rounds).toBe(0);
  await repeated.flush();
  expect(rounds).toBe(1);
});

test('who asks while the work is under way shares it, also its failure; the next one begins anew', async () => {
  let runs = 0;
  const shared = shareRun(async () => {
    runs += 1;
    if (runs === 1) throw new Error('first');
    return runs;
  });
  const both = await Promise.allSettled([shared(), shared()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await shared()).toBe(2);
});
