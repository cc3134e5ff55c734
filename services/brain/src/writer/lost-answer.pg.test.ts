/** The connection to the database breaks at each statement of a change: what is answered, on disk, stored and told agrees. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type BrainNode,
  type BrainTestBed,
  openBrainTestBed,
  type TestCaller,
  testCaller,
} from '../../testing/brain-test-bed.ts';
import { type CutDatabase, CUTS, cutsOf, startCutDatabase } from '../../testing/cut-database.ts';

const server = await lendPostgres();
const POOL_SIZE = 20;
const log = { warn() {}, fatal() {} };

describe.skipIf(server === null)('a change whose connection breaks', () => {
  let cutDatabase: CutDatabase;
  let bed: BrainTestBed;
  let node: BrainNode;
  let operator: TestCaller;
  let brain = '';
  let serial = 0;

  beforeAll(async () => {
    cutDatabase = await startCutDatabase(server?.url ?? '');
    bed = await openBrainTestBed(() => openPostgresDatabase({ url: cutDatabase.url, log, poolSize: POOL_SIZE }));
    node = await bed.start();
    operator = testCaller(() => node, null);
  }, 90_000);
  afterAll(async () => {
    cutDatabase.comeBack();
    await bed[Symbol.asyncDispose]();
    await cutDatabase.close();
    await server?.stop();
  });
  beforeEach(newBrain);

  async function newBrain(): Promise<void> {
    brain = `cut-${(serial += 1)}`;
    await operator.ok('brain_switch', { name: brain, create: true });
  }

  function call(tool: string, args: Fields, key?: string, ms = 10_000): Promise<Fields> {
    const over = { deadlineAt: Date.now() + ms, ...(key === undefined ? {} : { idempotencyKey: key }) };
    return operator.ok(tool, { brain, ...args }, over).catch((error: Error) => ({ code: error.message }));
  }
  const write = (name: string, content: string) => call('brain_write', { name, content });

  const root = () => join(bed.dataDir, 'brains', brain);
  const rows = async <Row>(sql: string) => (await bed.database.pool.query(sql, [brain])).rows as Row[];

  /** Without the name of the brain, which is another one each time. */
  const shown = (answer: Fields): Fields => ({ ...answer, brain: undefined });

  /** By path, the hash of what lies there, was stored and was told last. */
  async function states(): Promise<Record<string, string>[]> {
    const files = readdirSync(root(), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'));
    const onDisk = files.map((path) => [path, hash('sha256', readFileSync(join(root(), path)), 'hex')] as const);
    const stored = await rows<{ path: string; hash: string }>(
      'SELECT path, hash FROM brain.brain_files WHERE brain = $1',
    );
    const told = await rows<{ file: string; hash: string | null }>(
      `SELECT payload->>'file' AS file, payload->>'hash' AS hash
       FROM brain.outbox WHERE name = 'brain:change' AND payload->>'brain' = $1 ORDER BY written, line`,
    );
    const last = new Map(told.map(({ file, hash: now }) => [file, now]));
    return [
      Object.fromEntries(onDisk),
      Object.fromEntries(stored.map(({ path, hash: now }) => [path, now])),
      Object.fromEntries([...last].flatMap(([file, now]) => (now === null ? [] : [[file, now]]))),
    ];
  }

  async function expectAgreement(): Promise<void> {
    const [onDisk, stored, told] = await states();
    expect({ stored, told }).toEqual({ stored: onDisk, told: onDisk });
  }

  const changes = [
    { title: 'a file is made', before: [], tool: 'brain_write', args: { name: 'd/a.md', content: 'new' } },
    { title: 'a file is written', before: ['a.md'], tool: 'brain_write', args: { name: 'a.md', content: 'new' } },
    { title: 'a file is removed', before: ['a.md'], tool: 'brain_delete_file', args: { name: 'a.md' } },
    {
      title: 'a directory is removed',
      before: ['d/a.md', 'd/b.md'],
      tool: 'svc_storage_rm',
      args: { path: 'd', recursive: true },
    },
    {
      title: 'a directory is copied',
      before: ['d/a.md', 'd/b.md'],
      tool: 'svc_storage_cp',
      args: { src: 'd', dest: 'e' },
    },
  ];
  it.each(changes)(
    '$title: it is made or not, and its caller is told which',
    async ({ before, tool, args }) => {
      const prepare = async () => {
        await newBrain();
        for (const name of before) await write(name, 'old');
      };
      await prepare();
      const [untouched] = await states();
      const wanted = await call(tool, args, `${brain} key`);
      const [changed] = await states();
      const { length } = cutDatabase;
      for (const [cut, index] of cutsOf(length)) {
        await prepare();
        cutDatabase.cutAt(index, cut);
        const answer = await call(tool, args, `${brain} key`);
        expect(cutDatabase.isCut).toBe(true);
        const isMade = cut === 'unanswered';
        const expected = isMade ? shown(wanted) : { code: 'SERVICE_UNAVAILABLE' };
        expect([cut, index, shown(answer)]).toEqual([cut, index, expected]);
        const [onDisk] = await states();
        expect(onDisk).toEqual(isMade ? changed : untouched);
        await expectAgreement();
        expect(shown(await call(tool, args, `${brain} key`))).toEqual(shown(wanted));
        await expectAgreement();
      }
    },
    120_000,
  );

  it.each(CUTS)(
    'nothing more is changed until it is known what came of a COMMIT that was %s',
    async (cut) => {
      await write('a.md', 'old');
      cutDatabase.cutAt(cutDatabase.length - 1, cut, 'away');
      const isUnknown = { code: 'E_OUTCOME_UNKNOWN' };
      expect(await call('brain_write', { name: 'a.md', content: 'new' })).toEqual(isUnknown);
      expect(await call('brain_write', { name: 'b.md', content: 'x' }, undefined, 500)).toHaveProperty('code');
      cutDatabase.comeBack();
      expect(await write('b.md', 'x')).toMatchObject({ saved: true });
      const content = cut === 'unanswered' ? 'new' : 'old';
      expect(readFileSync(join(root(), 'a.md'), 'utf8')).toBe(content);
      expect(await call('brain_read', { name: 'a.md' })).toMatchObject({ content });
      await expectAgreement();
    },
    30_000,
  );

  it('puts nothing in place in a section that ended while the process stood still', async () => {
    await write('a.md', 'old');
    const { sinceGivenUpMs } = node.bus;
    const other = new Client({ connectionString: server?.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM brain.brain_leases WHERE brain = $1 FOR UPDATE', [brain]);
    const answer = write('a.md', 'late');
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await expect.poll(async () => (await other.query(waiting)).rowCount).toBe(1);
    node.bus.sinceGivenUpMs = () => Number.NEGATIVE_INFINITY;
    cutDatabase.cutAt(2, 'unsent', 'away'); // the first statement after it has entered
    await other.query('COMMIT');
    await expect.poll(() => cutDatabase.isCut).toBe(true);
    await other.query('UPDATE brain.brain_owners SET epoch = epoch + 1 WHERE brain = $1', [brain]);
    cutDatabase.comeBack();
    expect(await answer).toEqual({ code: 'SERVICE_UNAVAILABLE' });
    node.bus.sinceGivenUpMs = sinceGivenUpMs;
    expect(readFileSync(join(root(), 'a.md'), 'utf8')).toBe('old');
    await other.end();
  }, 30_000);
});
