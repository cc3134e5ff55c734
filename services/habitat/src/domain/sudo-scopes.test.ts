import { expect, test } from 'vitest';
import { covers, levelOf, parseScope, type Scope, SCOPE_NAMES, SCOPES, scopeOfLevel } from './sudo-scopes.ts';

function scope(text: string): Scope {
  const parsed = parseScope(text);
  if (parsed === null) throw new Error(`no scope ${text}`);
  return parsed;
}

test('a scope goes by its name, by its capability, and in parts', () => {
  for (const name of SCOPE_NAMES) {
    expect(scope(name)).toEqual({ name, text: name });
    expect(scope(SCOPES[name].capability)).toEqual({ name, text: name });
  }
  expect(scope('canExecute').name).toBe('exec');
  expect(scope('network:api.example.org:8443')).toEqual({ name: 'network', text: 'network:api.example.org:8443' });
  expect(scope('canExec:python').text).toBe('exec:python');
});

test('anything else is no scope', () => {
  const strange = ['', 'root', 'Read', 'canread', 'constructor', 'network:', 'network:a b', 'network:*', 'admin:x'];
  for (const text of [...strange, 'sudo:x', ':x', 'read ', `exec:${'x'.repeat(101)}`]) {
    expect(parseScope(text), text).toBeNull();
  }
});

test('a level means the highest scope not above it', () => {
  const names = Array.from({ length: 12 }, (_, level) => scopeOfLevel(level)?.name);
  expect(names).toEqual([
    undefined,
    'read',
    'read',
    'write',
    'write',
    'network',
    'exec',
    'spawn',
    'sudo',
    'sudo',
    'admin',
    undefined,
  ]);
});

test('the whole covers its parts, a part neither the whole nor another part; admin covers everything', () => {
  expect(covers('network', scope('network:x.org'))).toBe(true);
  expect(covers('network', scope('exec'))).toBe(false);
  expect(covers('network:x.org', scope('network:x.org'))).toBe(true);
  expect(covers('network:x.org', scope('network:y.org'))).toBe(false);
  expect(covers('network:x', scope('network:x.org'))).toBe(false);
  expect(covers('network:x.org', scope('network'))).toBe(false);
  expect(covers('write', scope('read'))).toBe(false);
  for (const name of SCOPE_NAMES) expect(covers('admin', scope(name))).toBe(true);
  expect(covers('admin', scope('exec:python'))).toBe(true);
});

test('the level of a task is that of its highest scope', () => {
  expect(levelOf([])).toBe(0);
  expect(levelOf(['read', 'network:x.org', 'write'])).toBe(5);
});
