import { createFakeClock } from '@svc/testing/fakes.ts';
import { expect, test } from 'vitest';
import { keptProbe, type Probe } from './kept-probe.ts';

test('a probe holds ten minutes when it found everything whole, else half a minute', async () => {
  const clock = createFakeClock();
  const finds: boolean[] = [false, true, true];
  let made = 0;
  const probe = keptProbe(
    clock,
    async (): Promise<Probe> => ({ at: clock.now(), ok: finds[made++] ?? true, checks: [] }),
  );

  const [one, other] = await Promise.all([probe(), probe()]);
  expect([one.ok, other.ok, made]).toEqual([false, false, 1]);
  clock.advance(29_999);
  expect([(await probe()).ok, made]).toEqual([false, 1]);
  clock.advance(1);
  expect([(await probe()).ok, made]).toEqual([true, 2]);
  clock.advance(599_999);
  expect([(await probe()).ok, made]).toEqual([true, 2]);
  clock.advance(1);
  await probe();
  expect(made).toBe(3);
});

test('one that found something broken is made again although the clock was set back', async () => {
  const clock = createFakeClock();
  const finds: boolean[] = [false, true];
  const probe = keptProbe(
    clock,
    async (): Promise<Probe> => ({ at: clock.now(), ok: finds.shift() ?? true, checks: [] }),
  );
  expect(await probe()).toMatchObject({ ok: false });
  clock.advance(-3_600_000);
  expect(await probe()).toMatchObject({ ok: true });
});

test('a probe that could not be made is made again by whoever asks next', async () => {
  let made = 0;
  const probe = keptProbe(createFakeClock(), async () => {
    made += 1;
    if (made === 1) throw new Error('no worker');
    return { at: 0, ok: true, checks: [] };
  });
  await expect(probe()).rejects.toThrow('no worker');
  expect(await probe()).toMatchObject({ ok: true });
});
