import { describe, expect, test } from 'vitest';
import { universeOf, worldSeed } from './seed-chain.ts';
import { cellsOf, cellText, leafOf, liveBytes, MOST_CELL_BYTES, rootOf, stateOf } from './state.ts';

const universe = universeOf({});
if (!universe.ok) throw new Error(universe.code);
const cells = cellsOf(worldSeed(universe.value, 'demo'));
const demo = { world: 'demo', fork: false };
const ROOT = 'f9978b50fbc1dc64598684542ed8e39791751cf4820cba6b55ddb32d0e79ba6b';

test('the cells of a world follow from its seed', () => {
  expect(cells.map(({ address }) => address)).toEqual([
    '8e93a432d102d984218e234a9691cf7200f8dc53dcbf20e68aa354665966679a',
    '84f9d851d9eab9e1ad3af06a104d9dac2aa8762a9887424fa943cc345a8cb1e5',
    '7800e1b3678d8b212476313b6764c7137a0bd0cd3dbb5fa3b5709cddf25e086d',
    '276f68f933c406979829b9b9b86774ab26d1f27ffee7c71628162bb4ef6fb2d2',
    'adbcc70fb45eb0ef4c05d7f5e6769fcd49bee52114f758788ca0a2991907864b',
  ]);
  const [first] = cells;
  if (first === undefined) throw new Error('a world without cells');
  expect(cellText(demo, first)).toBe(
    '{"address":"8e93a432d102d984218e234a9691cf7200f8dc53dcbf20e68aa354665966679a","fork":false,"generation":0,"world":"demo"}',
  );
  expect(leafOf('cell/0', cellText(demo, first))).toBe(
    'c3893f44e4048bd87271553af10c337af14c9ec2aa98dfa099d5a21bb0a31c19',
  );
});

describe('the root of a state', () => {
  test('is the one that everybody computes, whatever the order', () => {
    const state = stateOf(demo, cells);
    expect(rootOf(state)).toBe(ROOT);
    expect(rootOf(state.toReversed())).toBe(ROOT);
  });

  test('changes with one cell', () => {
    const state = stateOf(demo, cells).map(([path, bytes]) =>
      path === 'cell/3' ? ([path, '{"address":"x"}'] as const) : ([path, bytes] as const),
    );
    expect(rootOf(state)).toBe('ed345303cf488bda00955498bbdd2b536ab3112f65c1b4f4a5ef024939364f4d');
  });

  test('orders paths by their bytes and not by their code units', () => {
    const emoji = ['\u{1F600}', '1'] as const;
    const ligature = ['\uFB33', '2'] as const;
    expect(rootOf([emoji, ligature])).toBe(rootOf([ligature, emoji]));
  });
});

describe('a cell in a file', () => {
  test('counts as the value it holds', () => {
    expect(liveBytes('{ "b": 1,\n  "a": 2 }\n')).toBe('{"a":2,"b":1}');
  });

  test.each(['no json', '{"a":1', '"\\ud800"', '1e999'])('counts as its bytes where that is no value: %s', (text) => {
    expect(liveBytes(text)).toBe(text);
  });

  test('counts as its bytes where it is longer than any cell, or too deep to be read', () => {
    const padded = (bytes: number): string => `[${' '.repeat(bytes - 2)}]`;
    expect(liveBytes(padded(MOST_CELL_BYTES))).toBe('[]');
    expect(liveBytes(padded(MOST_CELL_BYTES + 1))).toBe(padded(MOST_CELL_BYTES + 1));
    const wide = `["${'é'.repeat(MOST_CELL_BYTES / 2)}" ]`;
    expect(liveBytes(wide)).toBe(wide);
    for (const depth of [MOST_CELL_BYTES / 2, 500_000]) {
      const deep = '['.repeat(depth) + ']'.repeat(depth);
      expect(liveBytes(deep)).toBe(deep);
    }
  });

  test('may be no text at all', () => {
    const bytes = Buffer.from([0, 255]);
    expect(leafOf('cell/0', liveBytes(bytes))).toBe(leafOf('cell/0', bytes));
  });
});
