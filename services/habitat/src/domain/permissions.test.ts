import { expect, test } from 'vitest';
import { permits } from './permissions.ts';

test.each([
  [['viewer'], 'read', true],
  [['viewer'], 'write', false],
  [['editor'], 'canWrite', true],
  [['editor'], 'delete', false],
  [['admin'], 'canDelete', true],
  [['admin'], 'canAdmin', true],
  [['admin'], 'deploy', false],
  [['deploy'], 'deploy', true],
  [['canWrite'], 'write', true],
  [['write'], 'canWrite', true],
  [['canWrite'], 'read', false],
  [[], 'read', false],
  [['viewer', 'deploy'], 'deploy', true],
])('%j permits %s: %s', (roles, permission, expected) => {
  expect(permits(roles, permission)).toBe(expected);
});
