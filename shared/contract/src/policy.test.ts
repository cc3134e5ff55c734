import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY, evaluatePolicy, hideFields, type Policy, ruleMatches } from './policy.ts';

const policy = (over: Partial<Policy>): Policy => ({ ...DEFAULT_POLICY, ...over });

describe('row rules', () => {
  it('judges the container before any rule', () => {
    const open = policy({ readableBy: ['public'], container: 'acme' });
    expect(evaluatePolicy(open, { workspace: 'beta', userId: 'u' }, 'read')).toEqual({
      allowed: false,
      because: 'container:acme',
    });
    expect(evaluatePolicy(open, { workspace: 'acme' }, 'read').allowed).toBe(true);
    expect(evaluatePolicy(policy({ container: 'public' }), { workspace: 'beta' }, 'read').allowed).toBe(true);
  });

  it('admits everyone through an empty list and nobody through one that does not match', () => {
    expect(evaluatePolicy(policy({ readableBy: [] }), {}, 'read').allowed).toBe(true);
    expect(evaluatePolicy(policy({ readableBy: ['user:a'] }), { userId: 'b' }, 'read').allowed).toBe(false);
  });

  it('is by default readable by all and writable by an admin', () => {
    expect(evaluatePolicy(DEFAULT_POLICY, {}, 'read').allowed).toBe(true);
    expect(evaluatePolicy(DEFAULT_POLICY, { userId: 'u' }, 'write').allowed).toBe(false);
    expect(evaluatePolicy(DEFAULT_POLICY, { userId: 'u', roles: ['admin'] }, 'write').because).toBe('role:admin');
  });

  it.each([
    ['container:w', { workspace: 'w' }],
    ['role:r', { roles: ['x', 'r'] }],
    ['user:u', { userId: 'u' }],
    ['team:t', { team: 't' }],
    ['brain:b', { brain: 'b' }],
  ])('matches %s', (rule, subject) => {
    expect(ruleMatches(rule, subject)).toBe(true);
    expect(ruleMatches(rule, {})).toBe(false);
  });

  it.each(['', 'role', 'role:', ':r', 'Role:r', 'toString:r'])('never matches the malformed rule %j', (rule) => {
    expect(ruleMatches(rule, { userId: '', roles: ['', 'r'] })).toBe(false);
  });

  it('hides filtered and masked fields without touching the source', () => {
    const source = { name: 'a', salary: 1, secret: 2 };
    expect(hideFields(source, policy({ filter: ['secret'], mask: ['salary'] }))).toEqual({
      name: 'a',
      salary: '[masked]',
    });
    expect(source).toEqual({ name: 'a', salary: 1, secret: 2 });
  });
});
