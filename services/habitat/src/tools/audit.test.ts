import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { codeOf, enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

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
    const deep = `${'['.repeat(1900)}${']'.repeat(1900)}`;
    for (const data of [{ text: 'x'.repeat(4096) }, deep, `{"a":${deep}}`]) {
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

describe('who logs much', () => {
  it('is stopped within a minute, whoever else logs there, and never the operator', async () => {
    const loud = await enrol(node, 'loud', { workspace: 'loud', role: 'viewer' });
    const calm = await enrol(node, 'calm', { workspace: 'loud', role: 'viewer' });
    await enrol(node, 'loud', { workspace: 'loud-too', role: 'viewer' });
    await node.deps.store.client.$executeRawUnsafe('DELETE FROM habitat.audit_use');
    const codes = await Promise.all(
      Array.from({ length: 130 }, (_, n) =>
        loud.code('svc_audit_log', { event: 'x', workspace: n % 2 === 0 ? 'loud' : 'loud-too' }),
      ),
    );
    const logged = codes.filter((code) => code === null).length;
    // Twice as many when a minute begins meanwhile.
    expect(logged).toBeGreaterThanOrEqual(60);
    expect(logged).toBeLessThanOrEqual(120);
    expect(codes.filter((code) => code === 'E_QUOTA')).toHaveLength(130 - logged);
    expect(await calm.code('svc_audit_log', { event: 'x' })).toBeNull();
    expect(await codeOf(operator('svc_audit_log', { event: 'x', workspace: 'loud' }))).toBeNull();
  });

  it('counts in the minute that began for others while it waited its turn', async () => {
    const late = await enrol(node, 'late', { workspace: 'late', role: 'viewer' });
    expect(await late.code('svc_audit_log', { event: 'x' })).toBeNull();
    const moved = await node.deps.store.client.$executeRawUnsafe(
      `UPDATE habitat.audit_use SET since = since + interval '1 minute', used = 60 WHERE scope = 'family:late'`,
    );
    expect(moved).toBe(1);
    expect(await late.code('svc_audit_log', { event: 'x' })).toBe('E_QUOTA');
  });

  it('leaves the last tenth of a day to the admins of the workspace', async () => {
    const viewer = await enrol(node, 'day-viewer', { workspace: 'day', role: 'viewer' });
    const admin = await enrol(node, 'day-admin', { workspace: 'day', role: 'admin' });
    const used = (count: number) =>
      node.deps.store.client.$executeRawUnsafe(
        `INSERT INTO habitat.audit_use VALUES ('workspace:day', date_trunc('day', clock_timestamp(), 'UTC'), $1)
         ON CONFLICT (scope) DO UPDATE SET used = excluded.used, since = excluded.since`,
        count,
      );
    await used(8999);
    expect(await viewer.code('svc_audit_log', { event: 'x' })).toBeNull();
    expect(await viewer.code('svc_audit_log', { event: 'x' })).toBe('E_QUOTA');
    expect(await admin.code('svc_audit_log', { event: 'x' })).toBeNull();
    await used(10_000);
    expect(await admin.code('svc_audit_log', { event: 'x' })).toBe('E_QUOTA');
    const answer = await admin.call('svc_audit_log', { event: 'x' });
    expect(answer).toMatchObject({ limit: 10_000, error: 'You may log 10000 entries a day in this workspace.' });
    expect(Number(answer['retryAfterMs'])).toBeGreaterThan(0);
  });
});

test('what was granted a moment ago is listed, one after the other', async () => {
  await enrol(node, 'granted', { workspace: 'granting' });
  const seen: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    await operator('svc_habitat_addRole', { workspaceId: 'granting', userId: `granted-${n}`, role: 'viewer' });
    const entries = await entriesOf({ event: 'role:granted', workspace: 'granting', limit: 200 });
    seen.push(entries.filter(({ data }) => String((data as Fields)['userId']).startsWith('granted-')).length);
  }
  expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
});

test('where an entry stands is shown to admins of the workspace alone', async () => {
  const viewer = await enrol(node, 'placed-viewer', { workspace: 'placed', role: 'viewer' });
  const admin = await enrol(node, 'placed-admin', { workspace: 'placed', role: 'admin' });
  const hidden = { seq: null, prevHash: null, hash: null };
  expect(await viewer.call('svc_audit_log', { event: 'one' })).toMatchObject(hidden);
  await viewer.call('svc_audit_log', { event: 'two' });
  const own = await viewer.call('svc_audit_list', { limit: 1 });
  expect(own['entries']).toMatchObject([{ event: 'two', ...hidden }]);
  const next = await viewer.call('svc_audit_list', { limit: 1, cursor: own['nextCursor'] });
  expect(next['entries']).toMatchObject([{ event: 'one', ...hidden }]);
  expect(Buffer.from(own['nextCursor'] as string, 'base64url').toString()).not.toMatch(/placed|\/2/);
  const all = (await admin.call('svc_audit_list'))['entries'] as Fields[];
  expect(all.map(({ seq }) => seq)).toEqual([2, 1]);
  // An entry of others is no place to go on from.
  await admin.call('svc_audit_log', { event: 'three' });
  const foreign = (await admin.call('svc_audit_list', { limit: 1 }))['nextCursor'];
  expect(await viewer.code('svc_audit_list', { cursor: foreign })).toBe('VAF_INPUT_INVALID');
});

test('entries of one kind can be asked for', async () => {
  const admin = await enrol(node, 'kind-admin', { workspace: 'kinds', role: 'admin' });
  await admin.call('svc_audit_log', { event: 'said' });
  await node.registry.audit({
    entries: [
      { id: `aud_${'e'.repeat(32)}`, at: 1, event: 'done', workspace: 'kinds', subject: { verified: false }, data: {} },
    ],
  });
  const events = async (kind: string) =>
    ((await admin.call('svc_audit_list', { kind }))['entries'] as Fields[]).map(({ event }) => event);
  expect(await events('user')).toEqual(['said']);
  expect(await events('system')).toEqual(['done']);
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
  const post = (entries: Fields[]) => node.registry.audit({ entries } as never);

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
