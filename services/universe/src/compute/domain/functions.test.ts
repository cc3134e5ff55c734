import { expect, test } from 'vitest';
import { LISTED_FUNCTIONS, runListed } from './functions.ts';

test.each([
  ['sum', [1, 2, 3], 6],
  ['sum', [[1, 2, 3]], 6],
  ['sum', [], 0],
  ['sum', 4, 4],
  ['mean', [[1, 2]], 1.5],
  ['median', [[3, 1, 2]], 2],
  ['median', [[4, 1, 3, 2]], 2.5],
  ['min', [2, -1], -1],
  ['max', [2, -1], 2],
  ['sort', [[10, 9, 1]], [1, 9, 10]],
  ['sort', [['b', 'B', 'a']], ['B', 'a', 'b']],
  ['sort', [[{ b: 1 }, [1], 'x']], ['x', [1], { b: 1 }]],
  ['unique', [[1, { a: 1, b: 2 }, 1, { b: 2, a: 1 }]], [1, { a: 1, b: 2 }]],
  ['sha256', ['abc'], 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ['sha256', { a: 1 }, '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862'],
  ['canonical', { b: 1, a: -0 }, '{"a":0,"b":1}'],
  [
    'diff',
    [
      [1, 2, 3],
      [3, 4],
    ],
    { removed: [1, 2], added: [4], same: 1 },
  ],
])('%s of %j', (name, args, value) => {
  expect(runListed(name, args)).toEqual({ ok: true, value });
});

test('what a function does not take is an error of the caller, and there is none of another name', () => {
  const wrong = [
    ['sum', ['x']],
    ['mean', []],
    ['median', [[]]],
    ['min', []],
    ['sha256', []],
    ['canonical', [1, 2]],
  ];
  for (const [name, args] of [...wrong, ['diff', [[1]]], ['diff', [1, 2]]] as [string, unknown][]) {
    expect(runListed(name, args), name).toMatchObject({ code: 'E_COMPUTE_ERROR', details: { name: 'TypeError' } });
  }
  for (const name of ['', 'constructor', '__proto__', 'Sum']) expect(runListed(name, [])).toBeNull();
  expect(LISTED_FUNCTIONS.map(({ name }) => name)).toContain('diff');
});

test('a number that JSON has not is no value, wherever it stands', () => {
  const beyond = [
    ['sum', [1e308, 1e308]],
    ['mean', [1e308, 1e308]],
    ['median', [-1e308, -1e308]],
    ['max', [Infinity, 1]],
    ['sort', [[2, Infinity]]],
  ] as const;
  for (const [name, args] of beyond) {
    expect(runListed(name, args), name).toMatchObject({
      code: 'E_COMPUTE_OUTPUT',
      details: { problem: 'The value has no JSON form.' },
    });
  }
});

test('many values cost in step with their number', () => {
  const many = Array.from({ length: 200_000 }, (_, at) => at % 1000);
  expect(runListed('max', [many])).toEqual({ ok: true, value: 999 });
  expect(runListed('unique', [many])).toMatchObject({ ok: true });
});
