import { describe, expect, test } from 'vitest';
import { diffOf } from './diff.ts';
import {
  deriveWorld,
  type Manifest,
  manifestIn,
  manifestOf,
  manifestsOfFile,
  manifestText,
  resumableCells,
  storedManifest,
} from './manifest.ts';
import { namedWorld } from './names.ts';
import { universeOf } from './seed-chain.ts';

const ZERO = '0'.repeat(64);

function derived(name: string, fork = false, universe?: string) {
  const [u, named] = [universeOf({ named: universe }), namedWorld(name, fork)];
  if (!u.ok || !named.ok) throw new Error('no such world');
  return deriveWorld(u.value, named.value);
}

function manifest(
  name: string,
  { fork = false, universe, root }: { fork?: boolean; universe?: string; root?: string } = {},
): Manifest {
  const world = derived(name, fork, universe);
  return manifestOf(world, root ?? world.stateRoot);
}

const demo = manifest('demo');

test.each([
  [
    'demo',
    false,
    undefined,
    '29ea5330aeeb111832aef23f5abc12e0314bd19d0186fcb70747d7ce9f09d5f7',
    'f9978b50fbc1dc64598684542ed8e39791751cf4820cba6b55ddb32d0e79ba6b',
    'a36ae85d1e6e551413281bbf93a515f5c8048055360a656c026081a007c1a636',
  ],
  [
    'demo.kid',
    true,
    undefined,
    '7ff648333a8a5e9a5d959b2e053bb33ea3fd4d57b6f8ae3256e1f2ba4c819915',
    'aabaa10f2d37a89836b4b247dada1db589a39859695c3d09f2bf42056620f662',
    'b2f7063a58df2b66a8fc435caad6b9929a3a08b32426b3f02b74b4c852afa0b6',
  ],
  [
    'demo.kid.jr',
    true,
    undefined,
    'd3a8c74eb252c348159e50f5bc5c0178e678326883509ee78552f977d341005a',
    'fd4de0644aebe495348e1df50aed3f06b15b088b601121ce8d391cd42093548f',
    'ec01c76f2774f2f2d7037c2bd70ac52d15d5d3babfe5659c00581d59eb1ac8a3',
  ],
  [
    'demo.kid',
    false,
    undefined,
    'f98e6c069e2c7535479d696476210334a161856713d81cf61ff44b1e3382df61',
    '23fd921f830273f44f906e30412193db44395f61630ccae1a1bc06132894dbad',
    'f71740cf22900a306029c15a98ab80b54d39fc95a293613ffe1cb6c3c75c2382',
  ],
  [
    'default',
    false,
    undefined,
    'cd1675863a875b81895b0a6ee861f7c8aea748cf6e90733cab6eeaabcec13fe8',
    '84645ad20227f1fdc28adeecfa40337d2f4ecd8382f4550906d87dfbf2339fea',
    '84c7d3bbcdb11cb273e80ea56a9125b54791a73f05e2fc1b6c120f6444bf3a6d',
  ],
  [
    'demo',
    false,
    'acme',
    '0698a03ff16846f71c919b5e3ccbe062767d380a3630c1041970c76552dd8802',
    '295b0a41bbedcb7ca1dfff145e3036748b108e30594de0b214915575f3cbfefb',
    'f7116f6f0b002913df3daa3d57bd9ef60a3ff18d86265a4db6cc484224b9e5f5',
  ],
])('%s (fork %s, universe %s) is the world that everybody computes', (name, fork, universe, seed, root, id) => {
  const world = derived(name, fork, universe);
  expect([world.seed.toString('hex'), world.stateRoot, manifestOf(world, world.stateRoot).id]).toEqual([
    seed,
    root,
    id,
  ]);
});

test('a manifest of another state has another id', () => {
  expect(manifest('demo', { root: ZERO }).id).toBe('c60ef59b73d243e87bdf500124cdff4903b6722091befb5bfae8c732b23d185c');
});

describe('what is stored under an id', () => {
  const text = manifestText(demo);

  test('is the manifest of that id', () => {
    expect(storedManifest(demo.id, text)).toEqual({ ok: true, value: demo });
  });

  test('is not served when one byte of it is another', () => {
    for (let at = 0; at < text.length; at += 1) {
      const changed = `${text.slice(0, at)}${text[at] === ' ' ? 'x' : ' '}${text.slice(at + 1)}`;
      expect(storedManifest(demo.id, changed), `byte ${at}`).toMatchObject({ code: 'E_SNAPSHOT_MANIFEST' });
    }
  });

  test.each([`${manifestText(demo)}\n`, '', 'null', '{}', '[]', JSON.stringify({ ...demo.payload, extra: 1 })])(
    'is not served when it is something else',
    (other) => expect(storedManifest(demo.id, other)).toMatchObject({ ok: false, code: 'E_SNAPSHOT_MANIFEST' }),
  );
});

describe('a value', () => {
  test.each([
    ['a world of a name that there is not', { ...demo.payload, world: '../../x' }],
    ['a fork that is none', { ...demo.payload, fork: true }],
    ['a seed in capitals', { ...demo.payload, seed: demo.payload.seed.toUpperCase() }],
    ['no cells', { ...demo.payload, cells: [] }],
    ['another kind', { ...demo.payload, kind: 'x' }],
    ['60,000 brackets', { ...demo.payload, note: JSON.parse('['.repeat(60_000) + ']'.repeat(60_000)) }],
    ['what has no canonical form', { ...demo.payload, note: '\ud800' }],
  ])('with %s is no manifest', (_what, value) => {
    expect(manifestIn(value)).toMatchObject({ ok: false, code: 'E_SNAPSHOT_MANIFEST' });
  });

  test('that says more is one of a later version, which nobody resumes', () => {
    const later = manifestIn({ ...demo.payload, v: 2, cells: [...demo.payload.cells, ZERO] });
    if (!later.ok) throw new Error(later.code);
    expect(resumableCells(later.value)).toBeNull();
    expect(resumableCells(demo)).toHaveLength(5);
  });
});

describe('a file', () => {
  const { payload } = demo;

  test.each([
    ['one manifest', payload],
    ['a list', [payload]],
    ['a list under manifests', { manifests: [payload] }],
    ['a list with something else in it', [1, null, { ...payload, cells: 'x' }, payload]],
  ])('of %s holds it', (_what, value) => {
    expect(manifestsOfFile(JSON.stringify(value, null, 2))).toEqual({ ok: true, value: [demo] });
  });

  test.each(['', '{', '{}', 'null', '{"manifests":1}'])('of %j holds none', (text) => {
    expect(manifestsOfFile(text)).toMatchObject({ ok: false, code: 'E_SNAPSHOT_MANIFEST' });
  });
});

describe('the difference of two manifests', () => {
  test('is none of one with itself', () => {
    expect(diffOf(demo, demo)).toMatchObject({
      value: { identical: true, same: 7, changed: [], onlyInA: [], onlyInB: [], stateRootDiffers: false },
    });
  });

  test('can be the state alone', () => {
    expect(diffOf(demo, manifest('demo', { root: ZERO }))).toMatchObject({
      value: { identical: false, same: 7, changed: [], stateRootDiffers: true },
    });
  });

  test('names each key', () => {
    const { payload } = demo;
    const [first = '', ...rest] = payload.cells;
    const other = {
      id: ZERO,
      payload: { ...payload, v: 2, encoder: ZERO, cells: [first, ZERO, ...rest.slice(1), ZERO], note: 1 },
    };
    expect(diffOf(demo, other)).toMatchObject({
      value: {
        same: 5,
        changed: [
          { key: 'encoder', a: payload.encoder, b: ZERO },
          { key: 'cell/1', a: rest[0], b: ZERO },
        ],
        onlyInA: [],
        onlyInB: ['note', 'cell/5'],
      },
    });
    expect(diffOf(other, demo)).toMatchObject({ value: { onlyInA: ['note', 'cell/5'], onlyInB: [] } });
  });

  test('is asked of one world: the universe is judged first', () => {
    const elsewhere = manifest('demo.kid', { universe: 'acme' });
    expect(diffOf(demo, elsewhere)).toMatchObject({ code: 'E_SNAPSHOT_UNIVERSE', details: { universeMatch: false } });
    for (const fork of [true, false]) {
      expect(diffOf(demo, manifest('demo.kid', { fork }))).toMatchObject({ code: 'E_SNAPSHOT_WORLD_MISMATCH' });
    }
    expect(diffOf(manifest('demo.kid', { fork: true }), manifest('demo.kid'))).toMatchObject({ ok: false });
  });
});
