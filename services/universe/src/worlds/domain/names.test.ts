import { describe, expect, test } from 'vitest';
import { forkOf, namedWorld, plainWorld, worldOfLineage } from './names.ts';

const LONG = 'x'.repeat(64);

describe('a plain world', () => {
  test.each(['demo', 'demo.kid', 'A1._-z', LONG, 'console', 'x.con'])('may be called %s', (name) => {
    expect(plainWorld(name)).toMatchObject({ ok: true, value: { name, lineage: [name], fork: false } });
  });

  test.each(['', '../x', 'a..b', 'a.', '.a', '-a', `${LONG}x`, 'con', 'con.x', 'COM1.a', 'a b', 'ä', 'a/b', 'a\n'])(
    'may not be called %j',
    (name) => expect(plainWorld(name)).toMatchObject({ ok: false, code: 'E_SNAPSHOT_NAME' }),
  );
});

describe('a fork', () => {
  test('has the lineage of its name', () => {
    expect(worldOfLineage('demo.kid.jr')).toMatchObject({ value: { lineage: ['demo', 'kid', 'jr'], fork: true } });
    expect(worldOfLineage('demo')).toMatchObject({ value: { lineage: ['demo'], fork: false } });
    expect(forkOf('demo.kid', 'jr')).toEqual(worldOfLineage('demo.kid.jr'));
    expect(forkOf('demo', 'con')).toMatchObject({ ok: true });
  });

  test.each([
    ['demo', 'a.b'],
    ['demo', ''],
    ['demo', '-a'],
    ['con', 'kid'],
    ['', 'kid'],
    ['a..b', 'kid'],
    [LONG, 'k'],
    ['demo', LONG],
  ])('of %s is not called %s', (parent, child) => {
    expect(forkOf(parent, child)).toMatchObject({ ok: false, code: 'E_SNAPSHOT_NAME' });
  });

  test('is named as one with two segments or more', () => {
    expect(namedWorld('demo', true)).toMatchObject({ ok: false });
    expect(namedWorld('demo.kid', true)).toMatchObject({ value: { fork: true } });
    expect(namedWorld('demo.kid', false)).toMatchObject({ value: { fork: false } });
  });
});
