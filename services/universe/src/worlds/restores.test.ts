/** Worlds resumed: marked, billed and written once, whatever is in the way. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { agent, openWorldsBed } from '../../testing/worlds-bed.ts';

const bed = await openWorldsBed();
afterAll(() => bed[Symbol.asyncDispose]());

const { call, of } = bed;
const DEMO = 'a36ae85d1e6e551413281bbf93a515f5c8048055360a656c026081a007c1a636';
const FOLDER = 'universe/worlds/demo-29ea5330';
const MARKER = 'universe/restore.json';
const no = (code: string) => ({ ok: false, code, error: expect.any(String) });
const sql = (text: string, ...values: unknown[]) => bed.platform.database.pool.query(text, values);

let brain = '';
let actor = '';
let turns = 0;

beforeEach(async () => {
  turns += 1;
  brain = `restores-${turns}`;
  actor = `actor-${turns}`;
  await of('brain', 'brain_push', { name: brain, create: true });
  await call('svc_universe_record', { name: 'demo', brain });
});

const resume = (more: Fields = {}, over = {}) => call('svc_universe_resume', { id: DEMO, brain, actor, ...more }, over);
const materialize = (over = {}) => resume({ materialize: true }, over);
const path = (file: string) => join(bed.dataDir, 'brains', brain, file);
const marker = () => JSON.parse(readFileSync(path(MARKER), 'utf8')) as Fields;
async function spent(): Promise<unknown> {
  const { budget } = (await of('escrow', 'escrow_status', { org: `scenario:materialize:${actor}` })) as {
    budget?: Fields;
  };
  return budget?.['spent'];
}
/** The only restore of this test, put back to where it was cut off. */
async function cutOff(set: string): Promise<void> {
  await sql(`UPDATE universe.restores SET ${set} WHERE brain = $1`, brain);
}
const told = async (name: string) =>
  (await sql(`SELECT payload FROM universe.outbox WHERE name = $1 AND payload ->> 'brain' = $2`, name, brain)).rows;

describe('a resume', () => {
  test('leaves a marker, and says whether the cells are as they were', async () => {
    const first = await resume();
    expect(first).toMatchObject({
      ok: true,
      id: DEMO,
      world: 'demo',
      actor,
      liveRoot: null,
      liveRootMatch: null,
      marker: { file: MARKER },
      materialized: 0,
      billed: 0,
    });
    expect(marker()).toEqual({
      actor,
      at: (first['marker'] as Fields)['at'],
      id: DEMO,
      liveRootMatch: null,
      materialized: 0,
      stateRoot: first['stateRoot'],
      world: 'demo',
    });
    expect(await materialize()).toMatchObject({ billed: 5, materialized: 5, liveRootMatch: null });
    for (const generation of [0, 1, 2, 3, 4]) expect(existsSync(path(`${FOLDER}/cell-${generation}.json`))).toBe(true);
    expect(await spent()).toBe(5);
    expect(await resume({ id: DEMO.slice(0, 6) })).toMatchObject({ liveRootMatch: true, liveRoot: first['stateRoot'] });
    writeFileSync(path(`${FOLDER}/cell-3.json`), '{"address":"x"}');
    expect(await resume()).toMatchObject({ liveRootMatch: false });
    expect(await told('universe:resumed')).toHaveLength(4);
    expect(await told('universe:materialized')).toMatchObject([{ payload: { id: DEMO, cells: 5, by: actor } }]);
  });

  test('is refused without the manifest, and for who may not write', async () => {
    expect(await resume({ id: 'ffff' })).toMatchObject(no('E_SNAPSHOT_ABSENT'));
    await expect(resume({ manifestFile: '../x' })).rejects.toThrow('VAF_PATH_BLOCKED');
    await expect(resume({ brain: 'nowhere' })).rejects.toThrow('BRAIN_LOAD_FAIL');
    await expect(resume({}, agent('eve'))).rejects.toThrow('FORBIDDEN');
    const viewer = agent(actor, { subject: { agentId: actor, verified: true, roles: ['viewer'] } });
    await expect(resume({}, viewer)).rejects.toThrow('FORBIDDEN');
    expect(existsSync(path(MARKER))).toBe(false);
  });

  test('that costs more than there is changes nothing', async () => {
    await of('escrow', 'escrow_create', { agentId: `scenario:materialize:${actor}`, budget: 4 });
    expect(await materialize()).toMatchObject({ ...no('E_SNAPSHOT_BUDGET'), available: 4 });
    expect([existsSync(path(MARKER)), existsSync(path(FOLDER))]).toEqual([false, false]);
    expect(await spent()).toBe(0);
  });

  test('needs the lease, which whoever holds it goes on under', async () => {
    const holder = agent('holder');
    await of('brain', 'svc_lock', { brain, action: 'acquire' }, holder);
    expect(await materialize()).toMatchObject({ ...no('E_STATE_LOCKED'), holder: 'holder' });
    expect(await spent()).toBeUndefined();
    actor = 'holder';
    expect(await resume({}, holder)).toMatchObject({ ok: true });
    expect(await of('brain', 'svc_lock', { brain })).toMatchObject({ held: true });
  });

  test('gives the lease back, and many at once come one after the other', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => materialize()));
    for (const answer of answers) expect(answer).toMatchObject({ ok: true, billed: 5 });
    expect(await spent()).toBe(30);
    expect(answers.filter((answer) => answer['liveRootMatch'] === null)).toHaveLength(1);
    expect(await of('brain', 'svc_lock', { brain })).toMatchObject({ held: false });
  });

  test('of a brain that does not answer is refused before anything is billed', async () => {
    await bed.without('brain', async () => {
      expect(await materialize()).toMatchObject(no('E_STATE_LOCKED'));
    });
    expect(await spent()).toBeUndefined();
  });

  test('is one under its key, also where it is sent many times at once', async () => {
    const keyed = { idempotencyKey: `k-${turns}` };
    const answers = await Promise.all(Array.from({ length: 4 }, () => materialize(keyed)));
    expect(new Set(answers.map((answer) => answer['restoreId'])).size).toBe(1);
    expect(await spent()).toBe(5);
    await expect(resume({}, keyed)).rejects.toThrow('IDEMPOTENCY_KEY_REUSED');
  });

  test('is refused or billed under its key, and never both, whatever its twins find', async () => {
    let finished = 0;
    for (let turn = 0; turn < 10; turn += 1) {
      const keyed = { idempotencyKey: `t-${turns}-${turn}` };
      const answers = await Promise.all(Array.from({ length: 6 }, () => materialize(keyed)));
      expect(new Set(answers.map(({ code, restoreId }) => code ?? restoreId)).size).toBe(1);
      if (answers[0]?.['ok'] === true) finished += 1;
    }
    await bed.reconcile();
    expect((await spent()) ?? 0).toBe(5 * finished);
  });

  test('that the brain refuses to write is paid back', async () => {
    const folder = path('universe/restore.json');
    await of('brain', 'svc_storage_write', {
      brain,
      path: MARKER,
      content: Buffer.from([0, 255]).toString('base64'),
      encoding: 'base64',
    });
    expect(existsSync(folder)).toBe(true);
    expect(await materialize()).toMatchObject({ ...no('E_STATE_WRITE'), cause: 'E_CONFLICT' });
    expect(existsSync(path(FOLDER))).toBe(false);
    expect(await spent()).toBe(0);
  });
});

describe('what was cut off', () => {
  test.each(['started', 'billed', 'written'])('after it was %s goes on, and is paid once', async (state) => {
    await materialize();
    await cutOff(`state = '${state}'`);
    await bed.restart();
    await expect
      .poll(async () => (await sql('SELECT state FROM universe.restores WHERE brain = $1', brain)).rows)
      .toEqual([{ state: 'done' }]);
    expect(await spent()).toBe(5);
    expect(marker()).toMatchObject({ materialized: 5 });
  });

  test('goes on behind any number of others that cannot be finished', async () => {
    await materialize();
    await cutOff(`state = 'written'`);
    await sql(
      `INSERT INTO universe.restores (restore_id, state, manifest_id, world, actor, bearer, brain, branch, state_root,
         materialize, files, at, started_at)
       SELECT 'rst_broken' || n, 'billed', manifest_id, world, actor, bearer, brain || '-broken', branch, state_root,
         materialize, '"no files"', at, started_at - interval '1 hour'
       FROM universe.restores, generate_series(1, 120) n WHERE brain = $1`,
      brain,
    );
    try {
      await expect
        .poll(async () => {
          await bed.reconcile();
          return (await sql('SELECT state FROM universe.restores WHERE brain = $1', brain)).rows;
        })
        .toEqual([{ state: 'done' }]);
    } finally {
      await sql('DELETE FROM universe.restores WHERE brain = $1', `${brain}-broken`);
    }
  });

  test('while the ledger is away ends when that is back, and its caller learns of it by its key', async () => {
    const keyed = { idempotencyKey: `k-${turns}` };
    await bed.without('escrow', async () => {
      await expect(materialize(keyed)).rejects.toThrow('E_OUTCOME_UNKNOWN');
      await bed.reconcile();
    });
    expect(existsSync(path(FOLDER))).toBe(false);
    await bed.reconcile();
    expect(existsSync(path(FOLDER))).toBe(true);
    expect(await materialize(keyed)).toMatchObject({ ok: true, billed: 5 });
    expect(await spent()).toBe(5);
  });

  test.each(['started', 'billed'])('after it was %s and for ten minutes is given up, and paid back', async (state) => {
    const keyed = { idempotencyKey: `k-${turns}` };
    await bed.without('escrow', () => expect(materialize(keyed)).rejects.toThrow('E_OUTCOME_UNKNOWN'));
    await of('brain', 'svc_lock', { brain, action: 'acquire' }, agent('holder'));
    await cutOff(`started_at = started_at - interval '11 minutes'`);
    if (state === 'billed') {
      await cutOff(`started_at = clock_timestamp()`);
      await bed.reconcile();
      expect(await spent()).toBe(5);
      await cutOff(`started_at = started_at - interval '11 minutes'`);
    }
    await bed.reconcile();
    // The line was opened only where the ledger was there.
    expect((await spent()) ?? 0).toBe(0);
    expect(await materialize(keyed)).toMatchObject({ ...no('E_STATE_WRITE'), cause: 'unavailable' });
    expect(existsSync(path(FOLDER))).toBe(false);
  });

  test('with a write whose answer was lost is not given up', async () => {
    await materialize();
    await cutOff(`state = 'billed', started_at = started_at - interval '11 minutes'`);
    await of('brain', 'svc_lock', { brain, action: 'acquire' }, agent('holder'));
    await bed.reconcile();
    expect((await sql('SELECT state FROM universe.restores WHERE brain = $1', brain)).rows).toEqual([
      { state: 'done' },
    ]);
    expect(await spent()).toBe(5);
  });

  test('is not paid back twice, nor is a debit kept that came after the end', async () => {
    await materialize();
    await cutOff(`state = 'aborted', refund_owed = true, refusal = '{"failure":"FORBIDDEN"}'`);
    await bed.reconcile();
    await cutOff('refund_owed = true');
    await bed.reconcile();
    expect(await spent()).toBe(0);
  });
});
