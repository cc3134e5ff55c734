import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { triggerMatcher, normalTriggers } from './trigger.ts';

test.each([
  ['pr', 'review my pr', true],
  ['pr', 'april', false],
  ['pr', 'PR', true],
  ['pr', 'my_pr', false],
  ['pr', 'pr2', false],
  ['pr', 'the (pr), please', true],
  ['pr', 'april pr', true],
  ['pull request', 'a pull\n  request now', true],
  ['pull request', 'a pull-request', false],
  ['c++', 'i like C++!', true],
  ['c++', 'c++ too', true],
  ['.net', 'use .NET here', true],
  ['é', 'cafe\u0301', false],
  ['café', 'CAFE\u0301 au lait', true],
  ['ﬁx', 'please FIX it', true],
  ['部署', '请部署服务', true],
  ['カ', 'カタカナ', true],
  ['𝐚𝐛', 'say AB twice', true],
  ['x', '𐐨x', false],
])('%s in "%s": %s', (trigger, text, matches) => {
  expect(triggerMatcher(text)(normalTriggers([trigger])).length > 0).toBe(matches);
});

test('triggers are stored trimmed, folded and each once', () => {
  expect(normalTriggers(['Deploy', ' deploy ', '', '  ', 'ＡＢ'])).toEqual(['deploy', 'ab']);
});

test('a normal trigger is normal already, and matches itself alone or between spaces', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
      const triggers = normalTriggers([text]);
      expect(normalTriggers(triggers)).toEqual(triggers);
      expect(triggerMatcher(text)(triggers)).toEqual(triggers);
      expect(triggerMatcher(`say ${text} now`)(triggers)).toEqual(triggers);
    }),
    { numRuns: runs(2000), seed: 6 },
  );
});

test('a word inside a longer word never matches', () => {
  const word = fc.stringMatching(/^[a-z0-9]{1,6}$/);
  fc.assert(
    fc.property(word, word, word, (before, trigger, after) => {
      fc.pre(!(before + trigger + after).split(' ').includes(trigger));
      expect(triggerMatcher(before + trigger + after)([trigger])).toEqual([]);
    }),
    { seed: 7 },
  );
});
