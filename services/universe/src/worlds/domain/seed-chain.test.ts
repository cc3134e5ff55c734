import { expect, test } from 'vitest';
import { childSeed, numberOf, type Universe, type UniverseWish, universeOf, worldSeed } from './seed-chain.ts';

function universe(wish: UniverseWish = {}): Universe {
  const decision = universeOf(wish);
  if (!decision.ok) throw new Error(decision.code);
  return decision.value;
}

const FINGERPRINT = '88335377f1a3facc3ae99a3ff381742e4c9b7169f92d5a4d00632176b25e4f4b';
const OF_ACME = '47163e41922bea81fd2cbc53f752f2fcd4b811f298abfcb808ca7783e4d5b619';

test('a universe has the seed and the fingerprint that everybody computes', () => {
  const { seed, fingerprint, source } = universe();
  expect(seed.toString('hex')).toBe('dabcda20eb934281c38cda0b8311d46491e89b379a517799591d800e4243b9b7');
  expect([fingerprint, source]).toEqual([FINGERPRINT, 'default']);
  const acme = universe({ configured: 'acme' });
  expect(acme.seed.toString('hex')).toBe('bfdb4eaaf28fcd858ed86123d16611c93852fc58f522a3c704fcb0b72b53a60d');
  expect([acme.fingerprint, acme.source]).toEqual([OF_ACME, 'environment']);
  expect(universe({ named: 'acme', configured: 'other' })).toMatchObject({ fingerprint: OF_ACME, source: 'explicit' });
});

test.each([
  ['nothing', ''],
  ['257 bytes', 'x'.repeat(257)],
  ['129 characters of two bytes', 'é'.repeat(129)],
  ['a control character', 'svc-default-universe\u0001'],
  ['half a character', '\ud800'],
])('%s names no universe', (_what, named) => {
  expect(universeOf({ named })).toMatchObject({ ok: false, code: 'E_SNAPSHOT_UNIVERSE' });
});

test('a name of 256 bytes is one', () => {
  expect(universeOf({ named: 'é'.repeat(128) }).ok).toBe(true);
});

test.each([
  ['demo', {}, '29ea5330aeeb111832aef23f5abc12e0314bd19d0186fcb70747d7ce9f09d5f7'],
  ['demo.kid', {}, 'f98e6c069e2c7535479d696476210334a161856713d81cf61ff44b1e3382df61'],
  ['default', {}, 'cd1675863a875b81895b0a6ee861f7c8aea748cf6e90733cab6eeaabcec13fe8'],
  ['demo', { named: 'acme' }, '0698a03ff16846f71c919b5e3ccbe062767d380a3630c1041970c76552dd8802'],
])('the world %s in %o has its seed', (name, wish, seed) => {
  expect(worldSeed(universe(wish), name).toString('hex')).toBe(seed);
});

test('a fork follows from its parent, and is not the plain world of its name', () => {
  const kid = childSeed(worldSeed(universe(), 'demo'), 'kid');
  expect(kid.toString('hex')).toBe('7ff648333a8a5e9a5d959b2e053bb33ea3fd4d57b6f8ae3256e1f2ba4c819915');
  expect(childSeed(kid, 'jr').toString('hex')).toBe('d3a8c74eb252c348159e50f5bc5c0178e678326883509ee78552f977d341005a');
});

test('numbers follow from a seed and a salt', () => {
  const seed = worldSeed(universe(), 'demo');
  expect(['task:1', 'task:2', 'task:3'].map((salt) => numberOf(seed, 3, salt))).toEqual([2, 1, 2]);
});
