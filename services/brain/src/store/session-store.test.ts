import { CallError } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import { createIdempotency } from '@svc/runtime/idempotency.ts';
import { expect, test } from 'vitest';
import { openTestBed, type StoreTestBed } from '../../testing/store-test-bed.ts';
import { SessionStore } from './session-store.ts';

/** It is committed, and nobody hears of it. */
const unheard =
  ({ transact }: Pick<StoreTestBed, 'transact'>): StoreTestBed['transact'] =>
  async (work) => {
    await transact(work);
    throw new CallError('E_OUTCOME_UNKNOWN');
  };

test('a pointer that was moved by a COMMIT which nobody answered is that of the session from then on', async () => {
  await using bed = await openTestBed();
  let transact: StoreTestBed['transact'] = bed.transact;
  const sessions = new SessionStore({
    client: bed.client,
    transact: (work) => transact(work),
    idempotency: createIdempotency('brain'),
    defaultBrain: 'svc',
    exclusive: true,
  });
  const use = (branch: string) =>
    sessions.change('s', null, ({ stack }) => allow({ pointer: { stack, branches: { svc: branch } }, value: null }));
  await use('main');
  expect((await sessions.read('s')).branches).toEqual({ svc: 'main' });
  transact = unheard(bed);
  await expect(use('drafts')).rejects.toMatchObject({ code: 'E_OUTCOME_UNKNOWN' });
  expect((await sessions.read('s')).branches).toEqual({ svc: 'drafts' });
});
