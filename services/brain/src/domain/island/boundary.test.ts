import { expect, test } from 'vitest';
import { DEFAULT_POLICY, type Policy } from '@svc/contract/policy.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { judgeBoundary } from './boundary.ts';

const SRE: Policy = {
  ...DEFAULT_POLICY,
  container: 'acme',
  readableBy: ['team:sre'],
  writableBy: ['role:admin'],
};
const nobody: Subject = { workspace: 'acme' };
const sre: Subject = { workspace: 'acme', userId: 'u', roles: ['viewer'], team: 'sre' };
const admin: Subject = { workspace: 'acme', agentId: 'a', roles: ['admin'] };

test.each([
  ['no policy', null, nobody, 'write', true, 'no-policy'],
  ['a team', SRE, sre, 'read', true, 'team:sre'],
  ['no team', SRE, admin, 'read', false, 'no-match'],
  ['nobody', SRE, nobody, 'read', false, 'no-match'],
  ['another workspace', SRE, { ...sre, workspace: 'beta' }, 'read', false, 'container'],
  ['an admin writes', SRE, admin, 'write', true, 'role:admin'],
  ['a viewer writes', SRE, sre, 'write', false, 'no-match'],
  ['nobody writes', SRE, nobody, 'write', false, 'anonymous'],
  ['nobody writes where all may', { ...SRE, writableBy: ['public'] }, nobody, 'write', false, 'anonymous'],
  ['nobody writes where nothing is said', { ...SRE, writableBy: [] }, nobody, 'write', false, 'anonymous'],
  ['a transform that is not known', { ...SRE, mask: 'nonesuch' }, sre, 'read', false, 'transform'],
] as const)('%s', (_what, gate, subject, mode, allowed, because) => {
  const policy: Policy | null = gate === null ? null : { ...gate, writableBy: [...gate.writableBy] };
  expect(judgeBoundary(policy, subject as Subject, mode)).toEqual({ allowed, because });
});
