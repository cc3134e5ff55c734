/** Work over data of callers, and tools called in their name: limits, one bad item, attempts that take effect once. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DoorsBed, openDoorsBed } from '../../testing/doors-bed.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
let bed: DoorsBed;

beforeAll(async () => {
  bed = await openDoorsBed(database);
  for (const agent of ['ann', 'bob']) await bed.enrol(agent, 'editor');
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

const lookup = (start: unknown, operation = 'resolve') => bed.call('recursion_lookup', { operation, start });
const traverse = (root: unknown, more: Fields = {}) => bed.call('recursion_traverse', { root, ...more });
const batch = (operation: string, items: unknown[], agent?: string) =>
  bed.call('recursion_batch', { operation, items }, agent);
const retry = (operation: string, more: Fields = {}, agent?: string) =>
  bed.call('recursion_retry', { operation, backoffMs: 0, ...more }, agent);

const ROUND = { start: 'a', nodes: { a: { next: 'b' }, b: { next: 'c' }, c: { next: 'a' } } };
/** A chain of so many steps; a value at its end. */
const chain = (steps: number) => {
  const nodes = Array.from({ length: steps + 1 }, (_, n) => [
    `n${n}`,
    n === steps ? { value: n } : { next: `n${n + 1}` },
  ]);
  return { start: 'n0', nodes: Object.fromEntries(nodes) as Fields };
};

describe('data', () => {
  test('that goes round is told as a circle', async () => {
    expect(await traverse(ROUND)).toMatchObject({ visited: 3, cycles: [['a', 'b', 'c', 'a']], truncated: false });
    expect(await lookup(ROUND, 'last')).toMatchObject({ found: false, reason: 'cycle', path: ['a', 'b', 'c'] });
    const self = { id: 'a', children: [{ id: 'b', children: [{ id: 'a' }] }, { id: 'c' }, { id: 'b' }] };
    expect(await traverse(self)).toMatchObject({ visited: 3, result: ['a', 'b', 'c'], cycles: [['a', 'b', 'a']] });
  });

  test('leads to its first value, its end, or to nothing', async () => {
    const nested = { id: 'a', next: { id: 'b', next: { id: 'c', value: 7 } } };
    expect(await lookup(nested)).toMatchObject({
      found: true,
      value: 7,
      depth: 2,
      path: ['a', 'b', 'c'],
      reason: 'value',
    });
    expect(await lookup({ id: 'a', children: [{ kind: 'x' }] }, 'last')).toMatchObject({
      found: true,
      reason: 'end',
      item: { kind: 'x', id: '$.children[0]' },
    });
    expect(await lookup({ start: 'a', nodes: { a: { next: 'b' } } })).toMatchObject({
      found: false,
      reason: 'missing',
    });
    expect(await lookup({ id: 'a' })).toMatchObject({ found: false, reason: 'end' });
    expect(await lookup(chain(65))).toMatchObject({ found: false, reason: 'depth' });
    expect(await lookup({ value: 'x'.repeat(2 ** 20) })).toMatchObject({ found: true, item: null, truncated: true });
    expect(await lookup(nested, 'first')).toMatchObject({ code: 'E_RECURSION_OPERATION' });
    for (const start of [1, 'x', null, [], { start: 1, nodes: {} }]) {
      await expect(lookup(start)).rejects.toThrow('VAF_INPUT_INVALID');
    }
  });

  test('is walked in the order that was asked for, and what is shown is what was asked for', async () => {
    const tree = {
      id: 'a',
      value: 1,
      children: [
        { id: 'b', children: [{ id: 'c', value: 3 }] },
        { id: 'd', value: 4 },
      ],
    };
    const asked: [Fields, unknown][] = [
      [{}, ['a', 'b', 'c', 'd']],
      [{ order: 'breadth' }, ['a', 'b', 'd', 'c']],
      [{ operation: 'values' }, [1, 3, 4]],
      [{ operation: 'leaves' }, ['c', 'd']],
      [{ operation: 'count' }, 4],
      [{ operation: 'depth' }, 2],
    ];
    for (const [more, result] of asked) expect(await traverse(tree, more)).toMatchObject({ result, truncated: false });
    expect(await traverse({ id: 'a', children: ['x'] })).toMatchObject({ visited: 1, missing: ['$.children[0]'] });
    expect(await traverse(tree, { operation: 'sum' })).toMatchObject({ code: 'E_RECURSION_OPERATION' });
  });

  test('beyond a limit is told as cut off', async () => {
    expect(await traverse(chain(64))).toMatchObject({ visited: 65, depth: 64, truncated: false });
    expect(await traverse(chain(65))).toMatchObject({ visited: 65, truncated: true });
    expect(await traverse(chain(5), { maxDepth: 2 })).toMatchObject({ visited: 3, truncated: true });
    const wide = { id: 'a', children: Array.from({ length: 10_001 }, () => ({})) };
    expect(await traverse(wide, { operation: 'count' })).toMatchObject({ visited: 10_000, truncated: true });
    const long = { id: 'a', children: Array.from({ length: 3 }, () => ({ value: 'x'.repeat(500_000) })) };
    const { result, truncated } = await traverse(long, { operation: 'values' });
    expect([(result as unknown[]).length, truncated]).toEqual([2, true]);
  });
});

describe('a batch', () => {
  test('does its thing to each item, and a bad one spoils itself alone', async () => {
    expect(await batch('double', [1, 'x', 3])).toMatchObject({
      results: [2, null, 6],
      errors: [{ index: 1, code: 'VAF_INPUT_INVALID' }],
      count: 3,
      truncated: false,
    });
    const done: [string, unknown, unknown][] = [
      ['identity', { a: 1 }, { a: 1 }],
      ['length', [1, 2], 2],
      ['length', { a: 1 }, 1],
      ['upper', 'a', 'A'],
      ['lower', 'A', 'a'],
      ['json', { b: 1, a: 2 }, '{"a":2,"b":1}'],
      ['type', null, 'null'],
      ['type', [], 'array'],
      ['sha256', 'abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ];
    for (const [operation, item, result] of done)
      expect(await batch(operation, [item])).toMatchObject({ results: [result] });
    for (const [operation, item] of [
      ['length', 1],
      ['upper', 1],
      ['lower', null],
      ['double', 1e308],
    ] as const) {
      expect(await batch(operation, [item])).toMatchObject({ results: [null], errors: [{ index: 0 }] });
    }
    expect(await batch('nothing', [])).toMatchObject({ code: 'E_RECURSION_OPERATION' });
  });

  test('calls a tool that reads, as who asked, fifty times at most; one that writes not at all', async () => {
    expect(await batch('probe_read', [{ text: 'a' }, 1, { txt: 'b' }])).toMatchObject({
      results: [{ text: 'a' }, null, null],
      errors: [
        { index: 1, code: 'VAF_INPUT_INVALID' },
        { index: 2, code: 'VAF_INPUT_INVALID' },
      ],
    });
    expect(
      await batch(
        'probe_read',
        Array.from({ length: 51 }, () => ({})),
      ),
    ).toMatchObject({ count: 50, truncated: true });
    expect(await batch('probe_read', [{ size: 2 ** 20 }])).toMatchObject({ errors: [{ code: 'PAYLOAD_TOO_LARGE' }] });
    expect(await batch('probe_write', [{}])).toMatchObject({ code: 'E_RECURSION_OPERATION' });
    expect(await batch('cron_list', [{}], 'ann')).toMatchObject({ results: [{ jobs: [] }] });
    const nobody = { operator: false, principal: 'anon:127.0.0.1' };
    const asked = { operation: 'cron_list', items: [{}] };
    expect(await bed.callAs(nobody, 'recursion_batch', asked)).toMatchObject({ errors: [{ code: 'UNAUTHORIZED' }] });
    const deep = { operation: 'recursion_batch', items: [{ operation: 'probe_read', items: [{ text: 'in' }] }] };
    expect(await bed.call('recursion_batch', deep)).toMatchObject({ results: [{ results: [{ text: 'in' }] }] });
    expect(await bed.callAs({ hops: 8 }, 'recursion_batch', asked)).toMatchObject({ code: 'E_LIMIT' });
  });
});

describe('a retry', () => {
  test('goes on while the trouble may be over, under one key, and says how often', async () => {
    bed.probe.keys.splice(0);
    bed.probe.failures.push('SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE');
    const done = await retry('probe_write', { arguments: { text: 'a' } });
    expect(done).toMatchObject({ success: true, result: { text: 'a' }, attempts: 3 });
    expect(done['delaysMs']).toHaveLength(2);
    expect(bed.probe.keys).toHaveLength(3);
    expect(new Set(bed.probe.keys).size).toBe(1);
    bed.probe.failures.push('RLS_DENIED');
    expect(await retry('probe_write')).toMatchObject({
      success: false,
      code: 'E_RETRY_FAILED',
      last: 'RLS_DENIED',
      attempts: 1,
    });
    bed.probe.failures.push('E_BUSY', 'E_BUSY');
    expect(await retry('probe_write-idempotent'.replace('-', '_'), { maxRetries: 1 })).toMatchObject({
      success: false,
      code: 'E_RETRY_EXHAUSTED',
      attempts: 2,
      last: 'E_BUSY',
    });
    expect(await retry('probe_write', { arguments: { size: 2 ** 20 } })).toMatchObject({
      success: true,
      truncated: true,
    });
  });

  test('under a key of its own is what it was, and calls nothing again', async () => {
    const twice = () =>
      bed.callAs({ idempotencyKey: 'k' }, 'recursion_retry', { operation: 'probe_write', arguments: { text: 'x' } });
    const first = await twice();
    bed.probe.keys.splice(0);
    expect(await twice()).toEqual(first);
    expect(bed.probe.keys).toEqual([]);
  });

  test('shows a secret once, and keeps it nowhere', async () => {
    const minted = (idempotencyKey: string, args: Fields) => bed.callAs({ idempotencyKey }, 'recursion_retry', args);
    const mint = { operation: 'svc_habitat_mintToken', arguments: { agentId: 'ann' } };
    const first = await minted('mint', mint);
    const token = (first['result'] as Fields)['token'];
    expect(token).toMatch(/^svc_/);
    expect(await minted('mint', mint)).toEqual({ ...first, result: { ...(first['result'] as Fields), token: null } });
    const nested = { operation: 'recursion_retry', arguments: mint };
    expect(await minted('deep', nested)).toMatchObject({
      result: { result: { token: expect.stringMatching(/^svc_/) } },
    });
    expect(await minted('deep', nested)).toMatchObject({ result: { success: true, result: null } });
    const kept = await client.$queryRawUnsafe('SELECT outcome::text AS outcome FROM universe.idempotency');
    expect(JSON.stringify(kept)).not.toMatch(/svc_[0-9a-f]{64}/);
  });

  test('is of a tool that does not act on the world outside, and not too deep inside of others', async () => {
    for (const operation of ['probe_external', 'upper', 'nothing']) {
      expect(await retry(operation)).toMatchObject({ success: false, code: 'E_RECURSION_OPERATION' });
    }
    expect(await bed.callAs({ hops: 8 }, 'recursion_retry', { operation: 'probe_write' })).toMatchObject({
      code: 'E_LIMIT',
    });
    const nested = (times: number): Fields =>
      times === 0 ? { operation: 'probe_write' } : { operation: 'recursion_retry', arguments: nested(times - 1) };
    bed.probe.keys.splice(0);
    expect(await bed.call('recursion_retry', nested(7))).toMatchObject({ success: true });
    expect(await bed.call('recursion_retry', nested(8))).toMatchObject({ success: false });
    expect(bed.probe.keys).toHaveLength(1);
  });
});

describe('a token', () => {
  const MINUTE = 60_000;
  const MONTH = 30 * 86_400_000;
  const minting = (more: Fields = {}) => ({
    operation: 'svc_habitat_mintToken',
    arguments: { agentId: 'ann', ...more },
  });
  /** With a token that lives so long. */
  async function ann(ttlMs: number) {
    const minted = (await bed.registry('svc_habitat_mintToken', { agentId: 'ann', ttlMs })) as {
      tokenId: string;
      expiresAt: number;
    };
    const { tokenId, expiresAt } = minted;
    return {
      subject: { userId: 'ann', agentId: 'ann', workspace: 'default', roles: ['editor'], verified: true },
      token: { tokenId, bound: null, readOnly: false, profile: null, expiresAt },
      operator: false,
      principal: 'tok:ann',
    };
  }

  test('gives no longer one through calls inside of calls', async () => {
    const by = await ann(MINUTE);
    const { expiresAt } = by.token;
    const asked = (args: Fields) => bed.callAs(by, 'recursion_retry', args);
    const long = minting({ ttlMs: MONTH });
    expect(await asked(long)).toMatchObject({ code: 'E_RETRY_FAILED', last: 'FORBIDDEN' });
    expect(await asked({ operation: 'recursion_retry', arguments: long })).toMatchObject({ code: 'E_RETRY_FAILED' });
    expect(await asked(minting())).toMatchObject({ success: true, result: { agentId: 'ann', expiresAt } });
  });

  test('that has ended meanwhile gives none', async () => {
    const by = await ann(1);
    await vi.waitUntil(() => Date.now() > by.token.expiresAt);
    const asked = await bed.callAs(by, 'recursion_retry', minting({ ttlMs: 1 }));
    expect(asked).toMatchObject({ code: 'E_RETRY_FAILED', last: 'UNAUTHORIZED' });
  });

  test('that is revoked while a call goes on has nothing more called in its name', async () => {
    const { held, failures, keys } = bed.probe;
    const letGo = () => held.splice(0).forEach((go) => go());
    const direct = { operation: 'probe_write', arguments: { hold: true } };
    const wishes: [Fields, string][] = [
      [direct, 'UNAUTHORIZED'],
      [{ operation: 'recursion_retry', arguments: direct }, 'E_RETRY_FAILED'],
    ];
    for (const [wish, last] of wishes) {
      const by = await ann(MINUTE);
      keys.splice(0);
      failures.push('E_BUSY');
      const asked = bed.callAs(by, 'recursion_retry', { backoffMs: 0, ...wish });
      await vi.waitUntil(() => held.length > 0);
      await bed.registry('svc_habitat_revokeToken', { tokenOrHash: by.token.tokenId });
      const releasing = setInterval(letGo, 1);
      try {
        expect(await asked).toMatchObject({ code: 'E_RETRY_FAILED', last });
        expect(keys).toHaveLength(1);
      } finally {
        clearInterval(releasing);
      }
    }
  });
});

describe('a registered operation', () => {
  const register = (args: Fields, agent = 'ann') => bed.call('recursion_register', args, agent);

  test('is a pipeline or a tool with arguments, for who has a role in its workspace', async () => {
    expect(await register({ name: 'shout', type: 'pipeline', steps: ['upper', 'length'] })).toMatchObject({
      registered: true,
      replaced: false,
    });
    expect(await batch('shout', ['ab'], 'bob')).toMatchObject({ results: [2] });
    await register({ name: 'greet', type: 'tool', tool: 'probe_read', arguments: { text: 'hi' } });
    expect(await batch('greet', [{}, { text: 'you' }], 'ann')).toMatchObject({
      results: [{ text: 'hi' }, { text: 'you' }],
    });
    expect(await retry('greet', {}, 'bob')).toMatchObject({ success: true, result: { text: 'hi' } });
    const nobody = { operator: false, principal: 'anon:127.0.0.1' };
    expect(await bed.callAs(nobody, 'recursion_batch', { operation: 'shout', items: [] })).toMatchObject({
      code: 'E_RECURSION_OPERATION',
    });
    await expect(register({ name: 'x', type: 'pipeline', steps: ['upper'], workspace: 'else' })).rejects.toThrow(
      'FORBIDDEN',
    );
  });

  test('that took effect under a key did so, whatever its name means now', async () => {
    const keyed = () => {
      const subject = { agentId: 'ann', userId: 'ann', workspace: 'default', roles: ['editor'], verified: true };
      const as = { subject, operator: false, principal: 'ann', idempotencyKey: 'then' };
      return bed.callAs(as, 'recursion_retry', { operation: 'then' });
    };
    await register({ name: 'then', type: 'tool', tool: 'probe_write' });
    const first = await keyed();
    expect(first).toMatchObject({ success: true });
    await register({ name: 'then', type: 'pipeline', steps: ['upper'] });
    expect(await keyed()).toEqual(first);
    expect(await retry('then', {}, 'ann')).toMatchObject({ success: false, code: 'E_RECURSION_OPERATION' });
  });

  test('changes something for who registered it and for all when an operator did, whatever it was before', async () => {
    for (const tool of ['probe_write', 'probe_write_idempotent']) {
      await register({ name: 'tidy', type: 'tool', tool: 'probe_read', arguments: { text: 'a' } }, 'bob');
      expect(await retry('tidy', {}, 'ann')).toMatchObject({ success: true });
      expect(await register({ name: 'tidy', type: 'tool', tool }, 'bob')).toMatchObject({ replaced: true });
      bed.probe.keys.splice(0);
      for (const other of ['ann', undefined]) {
        const refused = { success: false, code: 'E_RECURSION_OPERATION', attempts: 0, owner: 'bob' };
        expect(await retry('tidy', {}, other)).toMatchObject(refused);
        const nested = { arguments: { operation: 'tidy' } };
        expect(await retry('recursion_retry', nested, other)).toMatchObject({ success: false });
      }
      expect(bed.probe.keys).toEqual([]);
      expect(await retry('tidy', {}, 'bob')).toMatchObject({ success: true });
    }
    const tidy = { name: 'tidy', type: 'tool', tool: 'probe_write' };
    expect(await bed.call('recursion_register', tidy)).toMatchObject({ replaced: true });
    expect(await retry('tidy', {}, 'ann')).toMatchObject({ success: true });
  });

  test('has a name that is nobody else’s, and a form', async () => {
    const steps = ['upper'];
    expect(await register({ name: 'shout', type: 'pipeline', steps })).toMatchObject({ replaced: true });
    expect(await register({ name: 'shout', type: 'pipeline', steps }, 'bob')).toMatchObject({
      code: 'E_RECURSION_TAKEN',
    });
    for (const name of ['upper', 'resolve', 'ids', 'probe_read']) {
      expect(await register({ name, type: 'pipeline', steps })).toMatchObject({ code: 'E_RECURSION_TAKEN' });
    }
    const wrong = [
      { name: 'A', type: 'pipeline', steps },
      { name: 'a', type: 'pipeline' },
      { name: 'a', type: 'tool' },
      { name: 'a', type: 'tool', tool: 'no_such_tool' },
      { name: 'a', type: 'tool', tool: 'probe_external' },
      { name: 'a', type: 'tool', tool: 'probe_read', steps },
      { name: 'a', type: 'pipeline', steps, tool: 'probe_read' },
      { name: 'a', type: 'pipeline', steps, arguments: {} },
      { name: 'a', type: 'pipeline', steps: ['round'] },
    ];
    for (const args of wrong) await expect(register(args), JSON.stringify(args)).rejects.toThrow('VAF_INPUT_INVALID');
  });

  test('is one of a hundred of a family at most', async () => {
    for (let n = 0; n < 100; n += 1) await register({ name: `op-${n}`, type: 'pipeline', steps: ['type'] }, 'bob');
    expect(await register({ name: 'more', type: 'pipeline', steps: ['type'] }, 'bob')).toMatchObject({
      code: 'E_QUOTA',
    });
  });

  test('of who is gone makes room for its family', async () => {
    for (const agent of ['parent', 'child']) await bed.enrol(agent, 'editor');
    const steps = ['type'];
    await register({ name: 'of-parent', type: 'pipeline', steps }, 'parent');
    for (let n = 0; n < 99; n += 1) await register({ name: `of-child-${n}`, type: 'pipeline', steps }, 'child');
    await client.$executeRawUnsafe(`UPDATE universe.operations SET family = 'parent' WHERE owner = 'child'`);
    const more = (name: string) => register({ name, type: 'pipeline', steps }, 'parent');
    expect(await more('one-more')).toMatchObject({ code: 'E_QUOTA' });
    await bed.registry('svc_habitat_removeRole', { workspaceId: 'default', userId: 'child', role: 'editor' });
    for (const name of ['one-more', 'another']) expect(await more(name)).toMatchObject({ registered: true });
    const names = await client.$queryRawUnsafe<{ name: string }[]>(
      `SELECT name FROM universe.operations WHERE family = 'parent' AND name IN
         ('of-parent', 'of-child-0', 'of-child-1', 'of-child-2', 'one-more', 'another') ORDER BY name`,
    );
    expect(names.map(({ name }) => name)).toEqual(['another', 'of-child-2', 'of-parent', 'one-more']);
  });
});
