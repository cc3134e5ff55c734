import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { codeOf, enrol } from '../test-people.ts';
import { useHabitat } from '../test-habitat.ts';

type Fields = Record<string, unknown>;

const { bed, node } = useHabitat();

const operator = (tool: string, args: Fields = {}) => node.call(tool, args);
const entriesOf = async (args: Fields = {}) => (await operator('svc_audit_list', args))['entries'] as Fields[];

describe('svc_audit_log', () => {
  it('takes the event under either name, never under both', async () => {
    expect(await operator('svc_audit_log', { event: 'one' })).toMatchObject({ logged: true, event: 'one' });
    expect(await operator('svc_audit_log', { type: 'two' })).toMatchObject({ logged: true, event: 'two' });
    expect(await codeOf(operator('svc_audit_log', { type: 'x', event: 'x' }))).toBe('VAF_INPUT_INVALID');
    expect(await codeOf(operator('svc_audit_log', {}))).toBe('VAF_INPUT_INVALID');
    expect(await codeOf(operator('svc_audit_log', { event: '' }))).toBe('VAF_INPUT_INVALID');
    expect(await codeOf(operator('svc_audit_log', { event: 'a\u0000b' }))).toBe('VAF_INPUT_INVALID');
  });

  it('reads text as JSON, keeps other text as a value, and refuses too much', async () => {
    await enrol(node, 'texts', { workspace: 'texts' });
    const logged: [unknown, unknown][] = [
      ['{"a":{"b":1}}', { a: { b: 1 } }],
      ['[1,2]', { value: [1, 2] }],
      ['42', { value: 42 }],
      ['just text', { value: 'just text' }],
      [{ kept: null }, { kept: null }],
    ];
    for (const [data, shown] of logged) {
      await operator('svc_audit_log', { event: 'text', data, workspace: 'texts' });
      const [newest] = await entriesOf({ workspace: 'texts', limit: 1 });
      expect(newest?.['data']).toEqual(shown);
    }
    const deep = `${'['.repeat(7000)}${']'.repeat(7000)}`;
    for (const data of [{ text: 'x'.repeat(16_384) }, deep, `{"a":${deep}}`]) {
      expect(await codeOf(operator('svc_audit_log', { event: 'much', data }))).toBe('VAF_INPUT_INVALID');
    }
  });

  it('masks secrets before it hashes, and still verifies', async () => {
    const raw = `svc_${'0f'.repeat(32)}`;
    const data = { note: `with ${raw}`, deep: { apiKey: 'abc' }, n: -0, big: 1e308 };
    await operator('svc_audit_log', { event: `used ${raw}`, data, workspace: 'default' });
    const [entry] = await entriesOf({ workspace: 'default', limit: 1 });
    expect(entry).toMatchObject({
      event: 'used [masked]',
      data: { note: 'with [masked]', deep: { apiKey: '[masked]' } },
    });
    expect(await operator('svc_audit_verify')).toMatchObject({ ok: true });
  });

  it('stamps the real subject, as an entry of a user whatever its name says', async () => {
    const person = await enrol(node, 'logger', { workspace: 'stamps', role: 'viewer' });
    await person.call('svc_audit_log', { event: 'token:revoked', data: { subject: 'somebody else' } });
    const [entry] = await entriesOf({ workspace: 'stamps' });
    expect(entry).toMatchObject({
      kind: 'user',
      event: 'token:revoked',
      subject: { userId: 'logger', agentId: 'logger', verified: true },
      workspace: 'stamps',
    });
  });

  it('asks for a role in the workspace, and for a workspace that exists', async () => {
    const person = await enrol(node, 'outsider', { workspace: 'inside' });
    await enrol(node, 'other', { workspace: 'elsewhere' });
    expect(await person.code('svc_audit_log', { event: 'x', workspace: 'inside' })).toBeNull();
    expect(await person.code('svc_audit_log', { event: 'x', workspace: 'elsewhere' })).toBe('FORBIDDEN');
    expect(await person.code('svc_audit_log', { event: 'x', workspace: 'nowhere' })).toBe('FORBIDDEN');
    expect(await codeOf(operator('svc_audit_log', { event: 'x', workspace: 'nowhere' }))).toBe('VAF_INPUT_INVALID');
    const anonymous = node.call('svc_audit_log', { event: 'x' }, { operator: false, subject: { workspace: 'inside' } });
    expect(await codeOf(anonymous)).toBe('UNAUTHORIZED');
  });

  it('logs a keyed call once', async () => {
    await enrol(node, 'keyed', { workspace: 'keyed' });
    const log = () => node.call('svc_audit_log', { event: 'k', workspace: 'keyed' }, { idempotencyKey: 'k1' });
    const [first, second] = [await log(), await log()];
    expect(second).toEqual(first);
    expect(await entriesOf({ workspace: 'keyed' })).toHaveLength(1);
  });
});

test('200 at once make one chain without gap, each entry after the other', async () => {
  await enrol(node, 'many', { workspace: 'many' });
  const logged = await Promise.all(
    Array.from({ length: 200 }, (_, n) => operator('svc_audit_log', { event: `e${n}`, workspace: 'many' })),
  );
  expect(logged.map(({ seq }) => Number(seq)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 200 }, (_, n) => n + 1),
  );
  const entries = await entriesOf({ workspace: 'many', limit: 1000 });
  expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, n) => 200 - n));
  const [, ...older] = entries;
  expect(entries.slice(0, -1).map(({ prevHash }) => prevHash)).toEqual(older.map(({ hash }) => hash));
  expect(entries.at(-1)?.['prevHash']).toBe('0'.repeat(64));
  expect(await operator('svc_audit_verify', { workspace: 'many' })).toMatchObject({
    ok: true,
    chains: [{ workspace: 'many', entries: 200, head: entries[0]?.['hash'] }],
  });
});

describe('svc_audit_list', () => {
  it('shows a workspace to its admin, to others what they did, to nobody what is foreign', async () => {
    const acme = await enrol(node, 'acme-admin', { workspace: 'acme', role: 'admin' });
    const editor = await enrol(node, 'acme-editor', { workspace: 'acme' });
    const beta = await enrol(node, 'beta-admin', { workspace: 'beta', role: 'admin' });
    await acme.call('svc_audit_log', { event: 'by-admin' });
    await editor.call('svc_audit_log', { event: 'by-editor' });
    await beta.call('svc_audit_log', { event: 'in-beta' });
    const eventsFor = async (person: typeof acme, args: Fields = {}) => {
      const { count, entries } = await person.call('svc_audit_list', args);
      expect(count).toBe((entries as Fields[]).length);
      return (entries as Fields[]).map(({ event }) => event);
    };
    expect(await eventsFor(acme)).toEqual(['by-editor', 'by-admin']);
    expect(await eventsFor(editor)).toEqual(['by-editor']);
    expect(await eventsFor(beta)).toEqual(['in-beta']);
    expect(await eventsFor(beta, { workspace: 'acme' })).toEqual([]);
    expect(await eventsFor(acme, { event: 'by-editor' })).toEqual(['by-editor']);
    const bound = await enrol(node, 'bound', { workspace: 'acme', bound: true });
    expect(await bound.code('svc_audit_list', { workspace: 'beta' })).toBe('FORBIDDEN');
    expect(await eventsFor(bound)).toEqual([]);
  });

  it('pages through every entry once, newest first', async () => {
    const seen: unknown[] = [];
    let cursor: unknown;
    do {
      const page = await operator('svc_audit_list', { workspace: 'many', limit: 17, ...(cursor ? { cursor } : {}) });
      expect(page['count']).toBe((page['entries'] as Fields[]).length);
      seen.push(...(page['entries'] as Fields[]).map(({ seq }) => seq));
      cursor = page['nextCursor'];
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 200 }, (_, n) => 200 - n));
    for (const wrong of ['x', 'Yzox', 'YzphL2I']) {
      expect(await codeOf(operator('svc_audit_list', { cursor: wrong }))).toBe('VAF_INPUT_INVALID');
    }
  });
});

describe('svc_audit_verify', () => {
  it('shows an admin its own chain alone', async () => {
    const admin = await enrol(node, 'judge', { workspace: 'judged', role: 'admin' });
    const editor = await enrol(node, 'no-judge', { workspace: 'judged' });
    await admin.call('svc_audit_log', { event: 'x' });
    const verified = await admin.call('svc_audit_verify');
    expect(verified).toMatchObject({ ok: true, chains: [{ workspace: 'judged', entries: 1 }] });
    expect(await admin.code('svc_audit_verify', { workspace: 'many' })).toBe('FORBIDDEN');
    expect(await editor.code('svc_audit_verify')).toBe('FORBIDDEN');
  });
});

describe('entries of services', () => {
  const entry = (n: number, over: Fields = {}) => ({
    id: `aud_${n.toString(16).padStart(32, '0')}`,
    at: 1_700_000_000_000 + n,
    event: 'thing:done',
    workspace: 'posted',
    subject: { verified: false },
    data: { n },
    ...over,
  });
  const post = (entries: Fields[]) => node.registry.ask('audit', { entries } as never);

  it('are taken once, however often they are sent', async () => {
    const entries = [entry(1), entry(2), entry(1), entry(3, { workspace: null })];
    await Promise.all([post(entries), post(entries), post(entries.toReversed())]);
    await post(entries);
    const posted = await entriesOf({ workspace: 'posted' });
    expect(new Set(posted.map(({ seq }) => seq))).toEqual(new Set([1, 2]));
    expect(posted).toHaveLength(2);
    expect(posted.every(({ kind }) => kind === 'system')).toBe(true);
    expect(await operator('svc_audit_verify', { workspace: 'posted' })).toMatchObject({ ok: true });
  });

  it('that are odd are taken too, so that none keeps the others waiting', async () => {
    await post([
      entry(10, { event: 'a\0b \udc00', data: { text: 'x'.repeat(20_000) } }),
      entry(11, { data: { lone: '\ud800', nul: '\0', ['k\0']: 1 }, at: 1.5 }),
    ]);
    const events = (await entriesOf({ workspace: 'posted' })).map(({ event, data }) => [event, data]);
    expect(events).toContainEqual(['a\uFFFDb \uFFFD', { omittedBytes: expect.any(Number) }]);
    expect(await operator('svc_audit_verify', { workspace: 'posted' })).toMatchObject({ ok: true });
  });

  it('of the registry itself arrive within a second', async () => {
    const since = Date.now();
    await operator('trust_setRequired', { permission: 'vote', minTrust: 0.6 });
    while ((await entriesOf({ event: 'trust:required' })).length === 0 && Date.now() - since < 10_000) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await entriesOf({ event: 'trust:required' })).toMatchObject([
      { workspace: null, kind: 'system', subject: { operator: true }, data: { permission: 'vote', minTrust: 0.6 } },
    ]);
    expect(await node.rows('SELECT id FROM habitat.audit_outbox')).toEqual([]);
  });
});

test('the key lies in a file that nobody else may read, and so do the checkpoints', async () => {
  await node.deps.audit.saveAll();
  const folder = join(bed().dataDir, 'audit');
  expect(statSync(folder).mode & 0o077).toBe(0);
  for (const name of ['key', 'checkpoints']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, 'key'))).toHaveLength(32);
  const verified = (await operator('svc_audit_verify'))['chains'] as Fields[];
  expect(verified.length).toBeGreaterThan(3);
  expect(verified.filter(({ checkpointSeq, entries }) => checkpointSeq !== entries)).toEqual([]);
});
