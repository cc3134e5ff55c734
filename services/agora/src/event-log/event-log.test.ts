import type { EventRecord } from '@svc/contract/events.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgoraProcess, type LogBed, openLogBed, type Teller } from '../../testing/log-bed.ts';

let bed: LogBed;
let teller: Teller;
let agora: AgoraProcess;

beforeAll(async () => {
  bed = await openLogBed();
  teller = await bed.teller();
  agora = await bed.start();
});
afterAll(async () => {
  await agora.stop();
  await teller.close();
  await bed.close();
});

interface Tail {
  readonly events: readonly (EventRecord & { readonly module: string; readonly payload: Record<string, unknown> })[];
  readonly lastId: string | null;
  readonly nextCursor?: string;
}

async function tail(args: object = {}, token?: string): Promise<Tail> {
  const over = token === undefined ? {} : await bed.as(token);
  return (await bed.call('event_tail', { ...args }, over)) as unknown as Tail;
}

function changed(file: string, workspace?: string, resources: string[] = []): NewEvent<'brain:change'> {
  const payload = {
    file,
    brain: 'svc',
    branch: 'main',
    hash: null,
    change: 'created',
    by: 'a1',
    source: 'tool',
  } as const;
  return {
    name: 'brain:change',
    payload: { ...payload, resources },
    ...(workspace === undefined ? {} : { workspace }),
  };
}

const filesOf = ({ events }: Tail) => events.map(({ payload }) => payload['file']);
const loggedFiles = async (like: string): Promise<string[]> => {
  const rows = await bed.rows<{ file: string }>(
    `SELECT payload->>'file' AS file FROM agora.event_log WHERE payload->>'file' LIKE $1 ORDER BY seq`,
    like,
  );
  return rows.map(({ file }) => file);
};
const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}/${index}`);

describe('the log', () => {
  test('has each event once, in the order of its service, also what was told while nobody listened', async () => {
    const files = numbered('away', 300);
    await agora.stop();
    for (let from = 0; from < files.length; from += 20)
      await teller.tell(...files.slice(from, from + 20).map((file) => changed(file)));
    await teller.outbox.flush();
    agora = await bed.start();
    await expect.poll(() => loggedFiles('away/%')).toEqual(files);
  });

  test('is written by one process at a time; another goes on when that one ends, and none is told twice', async () => {
    const second = await bed.start();
    const files = numbered('two', 200);
    for (const [index, file] of files.entries()) {
      await teller.tell(changed(file));
      if (index === 100) await agora.stop();
    }
    await expect.poll(() => loggedFiles('two/%')).toEqual(files);
    await second.stop();
    agora = await bed.start();
  });

  test('says how many events it came too late for, and goes on with what is kept', async () => {
    await agora.stop();
    await teller.tell(changed('lost/1'), changed('lost/2'), changed('lost/3'));
    await teller.outbox.flush();
    await bed.rows('DELETE FROM told.event_batches RETURNING 1 AS one');
    await teller.tell(changed('kept/1'));
    await teller.outbox.flush();
    agora = await bed.start();
    await expect.poll(() => loggedFiles('kept/%')).toEqual(['kept/1']);
    expect(await bed.call('event_sink_stats')).toMatchObject({ log: { lost: 3, lagMs: 0 } });
  });

  test('keeps each event once, also of a service that counts anew', async () => {
    const before = await loggedFiles('%');
    await agora.stop();
    await bed.rows(
      'UPDATE told.event_batches SET last = 1 + (SELECT count(*) FROM told.event_batches) - last RETURNING 1 AS one',
    );
    await bed.rows('UPDATE told.event_batches SET last = count RETURNING 1 AS one');
    await bed.rows('UPDATE told.outbox_head SET head = (SELECT max(last) FROM told.event_batches) RETURNING 1 AS one');
    await teller.tell(changed('anew/1'));
    await teller.outbox.flush();
    agora = await bed.start();
    await expect.poll(() => loggedFiles('%')).toEqual([...before, 'anew/1']);
  });
});

describe('event_tail', () => {
  test('shows the newest, and goes on after an event without gap and without repeat', async () => {
    const files = numbered('tail', 30);
    for (const file of files) await teller.tell(changed(file));
    await expect.poll(() => loggedFiles('tail/%')).toEqual(files);
    const newest = await tail({ max: 10 });
    expect(filesOf(newest)).toEqual(files.slice(20));
    expect(newest.lastId).toBe(newest.events.at(-1)?.id);
    expect(Object.keys(newest.events[0] ?? {}).sort()).toEqual([
      'at',
      'id',
      'module',
      'name',
      'node',
      'payload',
      'workspace',
    ]);
    const [first] = (await tail({ max: 30 })).events;
    const heard: unknown[] = [first?.payload['file']];
    let after = first?.id;
    for (let page = await tail({ max: 7, after }); page.events.length > 0; page = await tail({ max: 7, after })) {
      heard.push(...filesOf(page));
      after = page.lastId ?? after;
    }
    expect(heard).toEqual(files);
    expect(await tail({ after })).toEqual({ events: [], lastId: after });
  });

  test('narrows to names, to beginnings of names, to a service and to an area', async () => {
    await teller.tell(changed('named/1'), {
      name: 'role:granted',
      payload: { userId: 'u', role: 'viewer', by: 'a' },
      workspace: 'n1',
    });
    await expect.poll(async () => filesOf(await tail({ max: 2 }))).toEqual(['named/1', undefined]);
    const names = async (args: object) => new Set((await tail({ max: 1000, ...args })).events.map(({ name }) => name));
    expect(await names({ nameFilter: 'role:granted' })).toEqual(new Set(['role:granted']));
    expect(await names({ nameFilter: 'role:*' })).toEqual(new Set(['role:granted']));
    expect(await names({ nameFilter: 'brain:ch*' })).toEqual(new Set(['brain:change']));
    expect(await names({ module: 'habitat' })).toEqual(new Set(['role:granted']));
    expect(await names({ module: 'role' })).toEqual(new Set(['role:granted']));
    expect(await names({ module: 'role', nameFilter: 'brain:*' })).toEqual(new Set());
    expect(filesOf(await tail({ max: 1, nameFilter: 'brain:*' }))).toEqual(['named/1']);
  });

  test('refuses to go on after what is no longer kept, and waits for what is on its way', async () => {
    const [oldest] = (await tail({ max: 1000 })).events;
    await bed.rows('DELETE FROM agora.event_log WHERE id = $1 RETURNING 1 AS one', oldest?.id);
    await bed.rows('DELETE FROM told.event_batches WHERE first_id <= $1 RETURNING 1 AS one', oldest?.id);
    expect(await tail({ after: oldest?.id })).toMatchObject({ code: 'E_EVENT_GONE' });
    for (const never of [
      'evt_1',
      `evt_${'0'.repeat(32)}`,
      `evt_${Date.now().toString(16).padStart(12, '0')}${'a'.repeat(20)}`,
    ])
      expect(await tail({ after: never })).toMatchObject({ code: 'E_EVENT_GONE' });
    await teller.tell(changed('fresh/1'), changed('fresh/2'));
    await teller.outbox.flush();
    const [row] = await bed.rows<{ id: string }>(
      `SELECT first_id AS id FROM told.event_batches ORDER BY last DESC LIMIT 1`,
    );
    expect(filesOf(await tail({ after: row?.id }))).toEqual(['fresh/2']);
  });

  test('shows a stranger nothing of a workspace, of others or of operators, and no place among them', async () => {
    bed.registry.grant('stranger', 'elsewhere', 'editor');
    bed.registry.grant('member', 'acme', 'viewer');
    bed.registry.setPolicy('secret:1', { container: 'acme', readableBy: ['role:viewer'], mask: ['by'] });
    const stranger = bed.registry.mint('stranger');
    const member = bed.registry.mint('member');
    const minted = { tokenId: 't', agentId: 'member', expiresAt: 1, by: 'member', parties: ['member'] };
    await teller.tell(
      changed('open/1'),
      changed('acme/1', 'acme'),
      changed('acme/2', undefined, ['secret:1']),
      { name: 'token:minted', payload: minted },
      { name: 'policy:changed', payload: { resource: 'x', version: 1, by: 'a' }, workspace: 'acme' },
    );
    await expect.poll(() => loggedFiles('acme/%')).toHaveLength(2);
    const open = (await tail({ max: 5 })).events.find(({ payload }) => payload['file'] === 'open/1');
    const seen = await tail({ max: 5 }, stranger);
    expect(filesOf(seen).at(-1)).toBe('open/1');
    expect(seen.lastId).toBe(open?.id);
    expect(await tail({ after: open?.id }, stranger)).toEqual({ events: [], lastId: open?.id });
    const own = await tail({ after: open?.id }, member);
    expect(filesOf(own)).toEqual(['acme/1', 'acme/2', undefined]);
    expect(own.events[1]?.payload['by']).toBe('[masked]');
    expect(own.events[2]).toMatchObject({ name: 'token:minted', payload: { tokenId: 't' } });
    expect(own.events[2]?.payload).not.toHaveProperty('parties');
    const bound = bed.registry.mint('stranger', { bound: 'elsewhere' });
    bed.registry.grant('stranger', 'acme', 'viewer');
    expect(filesOf(await tail({ after: open?.id, nameFilter: 'brain:*' }, bound))).toEqual([]);
    expect(filesOf(await tail({ after: open?.id, nameFilter: 'brain:*' }, stranger))).toEqual(['acme/1', 'acme/2']);
  });

  test('looks at so much and no more for whoever may hear almost nothing, and goes on from there', async () => {
    bed.registry.grant('blind', 'nowhere', 'viewer');
    const blind = bed.registry.mint('blind');
    await teller.tell(changed('first/1'));
    await expect.poll(() => loggedFiles('first/%')).toHaveLength(1);
    const { lastId: after } = await tail({ max: 1 });
    await agora.stop();
    await bed.rows(
      `INSERT INTO agora.event_log SELECT (SELECT seq FROM agora.log_head) + n, 'evt_x' || n, 'brain:change', now(), 'n', 'told', 'hidden',
         'readers', '{}' FROM generate_series(1, 30000) n RETURNING 1 AS one`,
    );
    await bed.rows('UPDATE agora.log_head SET seq = seq + 30000 RETURNING 1 AS one');
    agora = await bed.start();
    await teller.tell(changed('last/1'));
    await expect.poll(() => loggedFiles('last/%')).toHaveLength(1);
    const part = await tail({ after }, blind);
    expect(part).toMatchObject({ events: [], lastId: after, nextCursor: expect.stringMatching(/^[\w-]{40,}$/) });
    expect(filesOf(await tail({ cursor: part.nextCursor }, blind))).toEqual(['last/1']);
    const back = await tail({ max: 3 }, blind);
    expect(filesOf(back)).toEqual(['last/1']);
    expect(filesOf(await tail({ max: 1, cursor: back.nextCursor }, blind))).toEqual(['first/1']);
    for (const args of [{ cursor: 'AAAA' }, { cursor: part.nextCursor, after }])
      await expect(tail(args, blind)).rejects.toThrow('VAF_INPUT_INVALID');
  });
});
