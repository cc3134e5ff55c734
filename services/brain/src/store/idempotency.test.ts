import { CallError } from '@svc/contract/codes.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { createIdempotency } from '@svc/runtime/idempotency.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestBed, type StoreTestBed } from '../../testing/store-test-bed.ts';

let bed: StoreTestBed;
const idempotency = createIdempotency('brain');
let serial = 0;
const scope = (over = {}) => ({
  principal: 'local',
  tool: 'brain_save',
  key: `k${(serial += 1)}`,
  argsHash: 'h',
  ...over,
});

beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('keyed work', () => {
  it('takes effect once, however many ask at once, and each gets the outcome of that once', async () => {
    const once = scope();
    let ran = 0;
    const work = async () => allow({ z: (ran += 1), a: ['kept', 'order'] });
    const all = await Promise.all(
      Array.from({ length: 20 }, () => bed.transact((transaction) => idempotency.once(transaction, once, work))),
    );
    expect(ran).toBe(1);
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(all.map(({ decision }) => JSON.stringify(decision)))).toEqual(
      new Set(['{"ok":true,"value":{"z":1,"a":["kept","order"]}}']),
    );
  });

  it('keeps refusals, and refuses other arguments', async () => {
    const once = scope();
    const run = (argsHash: string) =>
      bed.transact((transaction) =>
        idempotency.once(transaction, { ...once, argsHash }, async () => deny('E_LOCKED', { holder: 'a' })),
      );
    await run('h');
    expect(await run('h')).toMatchObject({
      replayed: true,
      decision: { ok: false, code: 'E_LOCKED', details: { holder: 'a' } },
    });
    await expect(run('other')).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  });

  it('forgets what failed: the key of a rolled back or broken call is free', async () => {
    const once = scope();
    const failing = bed.transact((transaction) =>
      idempotency.once(transaction, once, () => Promise.reject(new Error('bug'))),
    );
    await expect(failing).rejects.toThrow('bug');
    const blocked = bed.transact(async (transaction) => {
      const refused = idempotency.once(transaction, once, () => Promise.reject(new CallError('VAF_PATH_BLOCKED')));
      await refused.catch(() => {}); // others of the same transaction go on
    });
    await blocked;
    const again = await bed.transact((transaction) => idempotency.once(transaction, once, async () => allow('done')));
    expect(again).toEqual({ decision: { ok: true, value: 'done' }, replayed: false });
  });

  it('is scoped to caller and tool, and ends after a day', async () => {
    const once = scope();
    const run = (over = {}) =>
      bed.transact((transaction) => idempotency.once(transaction, { ...once, ...over }, async () => allow(1)));
    await run();
    expect((await run({ principal: 'tok:b' })).replayed).toBe(false);
    expect((await run({ tool: 'svc_commit' })).replayed).toBe(false);
    await bed.pool.query("UPDATE brain.idempotency SET at = now() - interval '25 hours' WHERE key = $1", [once.key]);
    expect((await run({ argsHash: 'new day' })).replayed).toBe(false);
    await bed.pool.query("UPDATE brain.idempotency SET at = now() - interval '25 hours' WHERE key = $1", [once.key]);
    expect(await idempotency.sweep(bed.client)).toBe(3);
  });
});
