import { expect, test } from 'vitest';
import { profileNamed } from './profiles.ts';

test.each([
  ['svc_*', 'svc_search', true],
  ['*search*', 'svc_search_hybrid', true],
  ['a*a', 'a', false],
  ['*', 'x', true],
  ['svc', 'svc_search', false],
  ['s*c*h', 'svc_search', true],
  ['s*x*h', 'svc_search', false],
  ['*_*_*', 'svc_search', false],
  // A matcher that tries all ways would not end.
  [`${'*a'.repeat(45)}*b`, 'a'.repeat(90), false],
])('of a profile that is set, %s fits %s: %s', (pattern, name, fits) => {
  expect(profileNamed('mine', new Map([['mine', [pattern]]]))?.({ name, service: 'brain' })).toBe(fits);
});

test('what is built in cannot be set anew, and what nobody set is none', () => {
  const set = new Map([['core', ['*']]]);
  expect(profileNamed('core', set)?.({ name: 'svc_health', service: 'brain' })).toBe(false);
  expect(profileNamed('mine', set)).toBeNull();
});
