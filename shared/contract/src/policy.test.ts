import { describe, expect, it } from 'vitest';
import { containerAdmits, decide, DEFAULT_POLICY, evaluate, type Policy, RuleText } from './policy.ts';

const policy = (over: Partial<Policy>): Policy => ({ ...DEFAULT_POLICY, ...over });

describe('row rules', () => {
  it('judges the container before any rule', () => {
    const open = policy({ readableBy: ['public'], container: 'acme' });
    expect(decide(open, { workspace: 'beta', userId: 'u' }, 'read')).toEqual({ allowed: false, because: 'container' });
    expect(decide(open, { workspace: 'acme' }, 'read').allowed).toBe(true);
    expect(decide(policy({ container: 'public' }), { workspace: 'beta' }, 'read').allowed).toBe(true);
    expect(containerAdmits(open, {})).toBe(true);
  });

  it('admits everyone through an empty list and nobody through one that does not match', () => {
    expect(decide(policy({ readableBy: [] }), {}, 'read')).toEqual({ allowed: true, because: 'no-rules' });
    expect(decide(policy({ readableBy: ['user:a'] }), { userId: 'b' }, 'read')).toEqual({
      allowed: false,
      because: 'no-match',
    });
  });

  it('is by default readable by all and writable by an admin', () => {
    expect(decide(DEFAULT_POLICY, {}, 'read')).toEqual({ allowed: true, because: 'public' });
    expect(decide(DEFAULT_POLICY, { userId: 'u' }, 'write').allowed).toBe(false);
    expect(decide(DEFAULT_POLICY, { userId: 'u', roles: ['admin'] }, 'write').because).toBe('role:admin');
  });

  it.each([
    ['container:w', { workspace: 'w' }],
    ['role:r', { roles: ['x', 'r'] }],
    ['user:u', { userId: 'u' }],
    ['user:a:b', { userId: 'a:b' }],
    ['team:t', { team: 't' }],
    ['brain:b', { brain: 'b' }],
  ])('matches %s', (rule, subject) => {
    const gated = policy({ readableBy: [rule], container: 'public' });
    expect(decide(gated, subject, 'read')).toEqual({ allowed: true, because: rule });
    expect(decide(gated, {}, 'read').allowed).toBe(false);
    expect(decide(gated, { ...subject, unknownWorkspace: true }, 'read').allowed).toBe(false);
  });

  it.each(['', 'role', 'role:', ':r', 'Role:r', 'toString:r', 'user:a\n'])('%j is no rule', (rule) => {
    expect(RuleText.safeParse(rule).success).toBe(false);
  });

  it('hides filtered and masked fields without touching the source', () => {
    const source = { name: 'A', ssn: 1, email: 'x@y', owner: { email: 'o@y', id: 1 } };
    const before = structuredClone(source);
    const hiding = policy({ filter: ['ssn', 'owner.id'], mask: ['email', 'ssn', 'owner.email'] });
    expect(evaluate(hiding, {}, 'read', source)).toEqual({
      allowed: true,
      because: 'public',
      data: { name: 'A', email: '[masked]', owner: { email: '[masked]' } },
    });
    expect(source).toEqual(before);
    expect(evaluate(hiding, {}, 'read', 'text')).toMatchObject({ data: 'text' });
    expect(evaluate(hiding, {}, 'read', [source, 1])).toMatchObject({ data: [{ name: 'A' }, 1] });
  });

  it('shows nothing through a transform that it does not know', () => {
    expect(evaluate(policy({ mask: 'later' }), {}, 'read', { a: 1 })).toEqual({
      allowed: false,
      because: 'transform',
    });
  });

  it('hides by registered names', () => {
    const row = { _id: 1, apiToken: 't', mail: 'a@b.c', nested: {}, plain: 1 };
    const shown = (over: Partial<Policy>) => {
      const seen = evaluate(policy(over), {}, 'read', row);
      return seen.allowed ? Object.keys(seen.data as object) : null;
    };
    expect(shown({ filter: 'private' })).toEqual(['apiToken', 'mail', 'nested', 'plain']);
    expect(shown({ filter: 'secrets' })).toEqual(['_id', 'mail', 'nested', 'plain']);
    expect(shown({ filter: 'nested' })).toEqual(['_id', 'apiToken', 'mail', 'plain']);
    expect(evaluate(policy({ mask: 'email' }), {}, 'read', row)).toMatchObject({
      data: { mail: '[masked]', plain: 1 },
    });
  });
});
