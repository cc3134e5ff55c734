import { expect, test } from 'vitest';
import { isDeeperThan } from '../../json-depth.ts';
import { COMPUTE_LIMITS, decideRun } from './outcome.ts';

const told = (over: object) => decideRun({ kind: 'value', result: '1', tooLarge: false, logs: '', ...over });

test('what a thread tells is taken as data alone', () => {
  expect(told({ logs: 'a\nb\n' })).toEqual({ ok: true, value: { result: 1, logs: ['a', 'b'] } });
  for (const strange of [null, 7, 'failed', [], {}, { kind: 'value' }, { kind: 'value', result: 1 }]) {
    expect(decideRun(strange), JSON.stringify(strange)).toMatchObject({ code: 'E_COMPUTE_ERROR' });
  }
  expect(told({ result: '{' })).toMatchObject({ code: 'E_COMPUTE_OUTPUT' });
  expect(told({ result: undefined })).toMatchObject({ code: 'E_COMPUTE_OUTPUT' });
  expect(told({ tooLarge: true })).toMatchObject({ code: 'E_COMPUTE_OUTPUT' });
  expect(told({ result: JSON.stringify('é'.repeat(COMPUTE_LIMITS.outputBytes / 2)) })).toMatchObject({
    code: 'E_COMPUTE_OUTPUT',
  });
});

test('how a thread ended is its code', () => {
  expect(decideRun('too slow')).toEqual({ ok: false, code: 'E_COMPUTE_TIMEOUT' });
  expect(decideRun('too large')).toEqual({ ok: false, code: 'E_COMPUTE_MEMORY' });
  expect(decideRun({ kind: 'no function' })).toEqual({ ok: false, code: 'E_FUNCTION' });
  expect(decideRun({ kind: 'unsettled' })).toMatchObject({ code: 'E_COMPUTE_ERROR' });
  const thrown = { kind: 'thrown', name: 'TypeError', message: 'x\ud800', stack: '    at f (code.js:12:3)\n' };
  expect(decideRun(thrown)).toMatchObject({ details: { name: 'TypeError', message: 'x\ufffd', line: 12 } });
  expect(decideRun({ ...thrown, name: 'InternalError', message: 'out of memory' })).toMatchObject({
    code: 'E_COMPUTE_MEMORY',
  });
});

test('depth counts brackets outside of texts', () => {
  expect(isDeeperThan('[[1]]', 2)).toBe(false);
  expect(isDeeperThan('[[{}]]', 2)).toBe(true);
  expect(isDeeperThan(JSON.stringify(['[[[["\\[[[']), 1)).toBe(false);
  expect(told({ result: `${'['.repeat(65)}${']'.repeat(65)}` })).toMatchObject({ code: 'E_COMPUTE_OUTPUT' });
  expect(told({ result: `${'['.repeat(100_000)}${']'.repeat(100_000)}` })).toMatchObject({ code: 'E_COMPUTE_OUTPUT' });
});

test('of the console as many whole lines are kept as there is room for', () => {
  const line = 'é'.repeat(10_000);
  const shown = told({ logs: `${line}\n`.repeat(9) });
  expect(shown).toMatchObject({ value: { logs: [line, line, line] } });
});
