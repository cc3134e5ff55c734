import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Door } from './door.ts';
import { follow } from './follow.ts';
import type { LegacySession } from './session.ts';

test('a stream that is refused is asked for ever more rarely', async () => {
  let asked = 0;
  const door: Door = {
    async exchange({ read }) {
      asked += 1;
      return read(new Response('{}', { status: 401 }));
    },
    leave: () => {},
  };
  const session: LegacySession = {
    headers: () => ({}),
    note: () => {},
    opened: () => {},
    settled: async () => {},
    renew: async () => false,
    name: () => 'one',
    wanted: () => [],
  };
  const ending = new AbortController();
  const following = follow({ door, session, write: () => {}, signal: ending.signal });
  await sleep(6500);
  ending.abort();
  await following;
  // At 0, 2 and 6 seconds, or later.
  expect(asked).toBeGreaterThan(1);
  expect(asked).toBeLessThanOrEqual(3);
});
