/** Worlds and their manifests, through the dispatcher, on a real brain and a real ledger. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hash } from 'node:crypto';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { agent, openWorldsBed } from '../../testing/worlds-bed.ts';
import { deriveWorld } from './domain/manifest.ts';
import { universeOf } from './domain/seed-chain.ts';
import { shownWorld } from './tools/shapes.ts';

const bed = await openWorldsBed();
afterAll(() => bed[Symbol.asyncDispose]());

const { call, of } = bed;
const DEMO = 'a36ae85d1e6e551413281bbf93a515f5c8048055360a656c026081a007c1a636';
const ZERO_DEMO = 'c60ef59b73d243e87bdf500124cdff4903b6722091befb5bfae8c732b23d185c';
const F = '88335377f1a3facc3ae99a3ff381742e4c9b7169f92d5a4d00632176b25e4f4b';
const F_ACME = '47163e41922bea81fd2cbc53f752f2fcd4b811f298abfcb808ca7783e4d5b619';
const no = (code: string) => ({ ok: false, code, error: expect.any(String) });

let brains = 0;
/** A brain of its own for a test. */
async function newBrain(): Promise<string> {
  brains += 1;
  const name = `worlds-${brains}`;
  await of('brain', 'brain_push', { name, create: true });
  return name;
}

const manifest = (brain: string, id: string) => join(bed.dataDir, 'brains', brain, `universe/manifests/${id}.json`);

describe('a snapshot', () => {
  test('is the world that everybody derives', async () => {
    expect(await call('svc_universe_snapshot', { name: 'demo' })).toMatchObject({
      ok: true,
      name: 'demo',
      fork: false,
      seed: '29ea5330aeeb111832aef23f5abc12e0314bd19d0186fcb70747d7ce9f09d5f7',
      stateRoot: 'f9978b50fbc1dc64598684542ed8e39791751cf4820cba6b55ddb32d0e79ba6b',
      id: DEMO,
      universe: { source: 'default', fingerprint: F },
      encoder: '0d2b2039fec2510ccb280c2ebb9df56ac3c216a123ca5b992acdfa240704d05b',
    });
  });

  test('of a fork follows from its parent', async () => {
    expect(await call('svc_universe_fork', { parent: 'demo', child: 'kid' })).toMatchObject({
      name: 'demo.kid',
      parent: 'demo',
      child: 'kid',
      fork: true,
      id: 'b2f7063a58df2b66a8fc435caad6b9929a3a08b32426b3f02b74b4c852afa0b6',
    });
    expect(await call('svc_universe_fork', { parent: 'demo.kid', child: 'jr' })).toMatchObject({
      id: 'ec01c76f2774f2f2d7037c2bd70ac52d15d5d3babfe5659c00581d59eb1ac8a3',
    });
    expect(await call('svc_universe_snapshot', { name: 'demo.kid' })).toMatchObject({
      id: 'f71740cf22900a306029c15a98ab80b54d39fc95a293613ffe1cb6c3c75c2382',
    });
  });

  test('is refused for a name or a universe that there is not', async () => {
    for (const name of ['../x', 'a..b', '', 'x'.repeat(65), 'con.x']) {
      expect(await call('svc_universe_snapshot', { name })).toMatchObject(no('E_SNAPSHOT_NAME'));
      expect(await call('svc_universe_fork', { parent: name, child: 'kid' })).toMatchObject(no('E_SNAPSHOT_NAME'));
      expect(await call('svc_universe_record', { name })).toMatchObject(no('E_SNAPSHOT_NAME'));
    }
    expect(await call('svc_universe_fork', { parent: 'demo', child: 'a.b' })).toMatchObject(no('E_SNAPSHOT_NAME'));
    const asked: [string, Fields][] = [
      ['svc_universe_snapshot', { name: 'demo' }],
      ['svc_universe_fork', { parent: 'demo', child: 'kid' }],
      ['svc_universe_status', {}],
      ['svc_universe_record', { name: 'demo' }],
    ];
    for (const universe of ['', 'x'.repeat(257)]) {
      for (const [tool, args] of asked) {
        expect(await call(tool, { ...args, universe })).toMatchObject(no('E_SNAPSHOT_UNIVERSE'));
      }
    }
  });

  test('is one byte string, ten thousand times and on every version of Node.js', async () => {
    const universe = universeOf({});
    if (!universe.ok) throw new Error(universe.code);
    const demo = { name: 'demo', lineage: ['demo'], fork: false } as const;
    const derived = () => JSON.stringify(shownWorld(deriveWorld(universe.value, demo)));
    const replies = new Set(Array.from({ length: 10_000 }, derived));
    expect([...replies].map((reply) => hash('sha256', reply))).toEqual([
      'e7d589fb18fed6f24ea5de15b9dfe8fcbc61ff9fdddec849a8414c34f564be11',
    ]);
    const [reply = ''] = replies;
    expect(await call('svc_universe_snapshot', { name: 'demo' })).toEqual({ ...JSON.parse(reply), fork: false });
  });
});

test('the status tells which universe this is, and how many manifests there are', async () => {
  const brain = await newBrain();
  expect(await call('svc_universe_status', { brain })).toMatchObject({
    ok: true,
    source: 'default',
    universe: F,
    world: 'default',
    fingerprint: '84c7d3bbcdb11cb273e80ea56a9125b54791a73f05e2fc1b6c120f6444bf3a6d',
    manifests: 0,
  });
  expect(await call('svc_universe_status', { brain, universe: 'acme' })).toMatchObject({
    source: 'explicit',
    universe: F_ACME,
  });
  await call('svc_universe_record', { name: 'demo', brain });
  expect(await call('svc_universe_status', { brain })).toMatchObject({ manifests: 1 });
  await expect(call('svc_universe_status', { brain: 'nowhere' })).rejects.toThrow('BRAIN_LOAD_FAIL');
});

describe('recording', () => {
  test('stores a manifest once, however often and at once it is asked', async () => {
    const brain = await newBrain();
    const wish = { name: 'demo', brain };
    const added = {
      ok: true,
      id: DEMO,
      file: `universe/manifests/${DEMO}.json`,
      world: 'demo',
      fork: false,
      universe: F,
    };
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('svc_universe_record', wish)));
    for (const answer of answers) expect(answer).toMatchObject(added);
    expect(answers.filter((answer) => answer['added'] === true)).toHaveLength(1);
    expect(await call('svc_universe_record', wish)).toMatchObject({ ...added, added: false });
    expect(await call('svc_universe_record', { ...wish, stateRoot: '0'.repeat(64) })).toMatchObject({
      added: true,
      id: ZERO_DEMO,
    });
    expect(await call('svc_universe_record', { ...wish, stateRoot: 'x' })).toMatchObject(no('E_SNAPSHOT_MANIFEST'));
    const { rows } = await bed.platform.database.pool.query(
      `SELECT payload FROM universe.outbox WHERE name = 'universe:recorded' AND payload ->> 'brain' = $1`,
      [brain],
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ payload: { id: DEMO, world: 'demo', by: 'operator' } });
  });

  test('answers under its key as the first time', async () => {
    const brain = await newBrain();
    const keyed = { idempotencyKey: 'r' };
    const first = await bed.answer('svc_universe_record', { name: 'demo', brain }, keyed);
    expect(await bed.answer('svc_universe_record', { name: 'demo', brain }, keyed)).toEqual({
      ...first,
      replayed: true,
    });
    await expect(call('svc_universe_record', { name: 'other', brain }, keyed)).rejects.toThrow(
      'IDEMPOTENCY_KEY_REUSED',
    );
  });

  test('holds what lies in the brain, where something does', async () => {
    const brain = await newBrain();
    const name = 'universe/worlds/demo-29ea5330/cell-3.json';
    await of('brain', 'brain_write', { brain, name, content: '{ "address": "x" }' });
    const { stateRoot, id } = await call('svc_universe_record', { name: 'demo', brain });
    expect(id).not.toBe(DEMO);
    expect(stateRoot).not.toBe('f9978b50fbc1dc64598684542ed8e39791751cf4820cba6b55ddb32d0e79ba6b');
  });

  test('is refused where other bytes lie under the id, and where the brain takes nothing', async () => {
    const brain = await newBrain();
    await of('brain', 'brain_write', { brain, name: `universe/manifests/${DEMO}.json`, content: '{}\n' });
    expect(await call('svc_universe_record', { name: 'demo', brain })).toMatchObject(no('E_SNAPSHOT_MANIFEST'));
    await of('brain', 'svc_lock', { brain, action: 'acquire' }, agent('holder'));
    expect(await call('svc_universe_record', { name: 'x', brain })).toMatchObject({
      ...no('E_STATE_WRITE'),
      cause: 'E_LOCKED',
      error: expect.stringContaining('lease'),
      holder: 'holder',
    });
    const viewer = agent('viewer', { subject: { agentId: 'viewer', verified: true, roles: ['viewer'] } });
    await expect(call('svc_universe_record', { name: 'y', brain }, viewer)).rejects.toThrow('FORBIDDEN');
    await bed.without('brain', async () => {
      expect(await call('svc_universe_record', { name: 'x', brain })).toMatchObject({
        cause: 'unavailable',
        error: 'Nothing was written. The brain does not answer.',
      });
    });
  });
});

describe('a difference', () => {
  test('is told key by key', async () => {
    const brain = await newBrain();
    await call('svc_universe_record', { name: 'demo', brain });
    await call('svc_universe_record', { name: 'demo', brain, stateRoot: '0'.repeat(64) });
    const diff = (a: string, b: string) => call('svc_universe_diff', { a, b, brain });
    expect(await diff(DEMO, DEMO.slice(0, 8))).toMatchObject({ identical: true, same: 7, changed: [] });
    expect(await diff(DEMO, ZERO_DEMO)).toMatchObject({ identical: false, same: 7, stateRootDiffers: true });
    expect(await diff(DEMO, 'ffff')).toMatchObject(no('E_SNAPSHOT_ABSENT'));
    expect(await diff(DEMO, 'XYZ')).toMatchObject(no('E_SNAPSHOT_ABSENT'));
    await call('svc_universe_record', { name: 'demo', brain, universe: 'acme' });
    expect(await diff(DEMO, 'f7116f6f')).toMatchObject({ ...no('E_SNAPSHOT_UNIVERSE'), universeMatch: false });
    await call('svc_universe_record', { name: 'demo.kid', brain, fork: true });
    expect(await diff(DEMO, 'b2f7063a')).toMatchObject(no('E_SNAPSHOT_WORLD_MISMATCH'));
  });

  test('is not told of a beginning that two ids have, nor of what was changed by hand', async () => {
    const brain = await newBrain();
    const ids = new Map<string, string>();
    let twin: string | null = null;
    for (let n = 0; twin === null; n += 1) {
      const { id } = (await call('svc_universe_record', { name: `w${n}`, brain })) as { id: string };
      if (ids.has(id.slice(0, 1))) twin = id;
      ids.set(id.slice(0, 1), id);
    }
    const prefix = twin.slice(0, 1);
    expect(await call('svc_universe_diff', { a: prefix, b: twin, brain })).toMatchObject({
      ...no('E_SNAPSHOT_AMBIGUOUS'),
      count: 2,
    });
    expect(await call('svc_universe_resume', { id: prefix, brain })).toMatchObject({ code: 'E_SNAPSHOT_AMBIGUOUS' });
    const file = manifest(brain, twin);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"fork":false', '"fork":true '));
    expect(await call('svc_universe_diff', { a: twin, b: twin, brain })).toMatchObject(no('E_SNAPSHOT_MANIFEST'));
    expect(await call('svc_universe_resume', { id: twin, brain, materialize: true })).toMatchObject(
      no('E_SNAPSHOT_MANIFEST'),
    );
  });

  test('can be of manifests in another file', async () => {
    const brain = await newBrain();
    const payloads = [];
    for (const stateRoot of [undefined, '0'.repeat(64)]) {
      const { id } = (await call('svc_universe_record', { name: 'demo', brain, stateRoot })) as { id: string };
      payloads.push(JSON.parse(readFileSync(manifest(brain, id), 'utf8')));
    }
    const elsewhere = await newBrain();
    const write = (name: string, value: unknown) =>
      of('brain', 'brain_write', { brain: elsewhere, name, content: JSON.stringify(value) });
    await write('all.json', { manifests: [1, ...payloads] });
    await write('none.json', { x: 1 });
    const diff = (manifestFile: string, b = ZERO_DEMO) =>
      call('svc_universe_diff', { a: DEMO, b, manifestFile, brain: elsewhere });
    expect(await diff('all.json')).toMatchObject({ same: 7, stateRootDiffers: true });
    expect(await diff('all.json', 'ffff')).toMatchObject(no('E_SNAPSHOT_ABSENT'));
    expect(await diff('none.json')).toMatchObject(no('E_SNAPSHOT_MANIFEST'));
    expect(await diff('absent.json')).toMatchObject(no('E_SNAPSHOT_ABSENT'));
    await expect(diff('../x')).rejects.toThrow('VAF_PATH_BLOCKED');
    await expect(call('svc_universe_diff', { a: DEMO, b: DEMO, brain: 'nowhere' })).rejects.toThrow('BRAIN_LOAD_FAIL');
    expect(await call('svc_universe_resume', { id: DEMO, manifestFile: 'all.json', brain: elsewhere })).toMatchObject({
      ok: true,
      liveRootMatch: null,
    });
  });
});

test('who may not write the brain records and resumes nothing in it', async () => {
  const brain = await newBrain();
  await call('svc_universe_record', { name: 'demo', brain });
  const resource = `brain:${brain}`;
  const policy = { container: 'public', readableBy: [], writableBy: ['role:admin'] };
  await of('habitat', 'svc_habitat_setPolicy', { resource, policy });
  const asked: [string, Fields][] = [
    ['svc_universe_record', { name: 'other', brain }],
    ['svc_universe_resume', { id: DEMO, brain, materialize: true }],
  ];
  for (const [tool, args] of asked) {
    await expect(call(tool, args), tool).rejects.toThrow('RLS_DENIED');
    await expect(call(tool, { ...args, brain: 'nowhere' }), tool).rejects.toThrow('BRAIN_LOAD_FAIL');
    const nobody = { subject: {}, operator: false, principal: 'anon:here' };
    await expect(call(tool, args, nobody), tool).rejects.toThrow('UNAUTHORIZED');
  }
  expect(await call('svc_universe_status', { brain })).toMatchObject({ manifests: 1 });
});
