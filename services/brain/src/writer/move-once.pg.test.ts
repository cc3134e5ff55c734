/** The connection to the database breaks at each statement of what moves in git: that happens once, and is stored and told. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BrainTestBed, openBrainTestBed, type TestCaller, testCaller } from '../../testing/brain-test-bed.ts';
import { type CutDatabase, cutsOf, startCutDatabase } from '../../testing/cut-database.ts';

const server = await lendPostgres();
const POOL_SIZE = 20;
/** Behind BEGIN, the section and the key. */
const MOVED_AT = 3;
const log = { warn() {}, fatal() {} };

interface Move {
  readonly tool: string;
  readonly args: Fields;
  /** Event that tells of it. */
  readonly told: string;
  /** In git and in the rows, once it has moved. */
  readonly seen: (brain: string) => Promise<unknown>;
}

describe.skipIf(server === null)('what moves in git while its connection breaks', () => {
  let cutDatabase: CutDatabase;
  let bed: BrainTestBed;
  let operator: TestCaller;
  let serial = 0;

  beforeAll(async () => {
    cutDatabase = await startCutDatabase(server?.url ?? '');
    bed = await openBrainTestBed(() => openPostgresDatabase({ url: cutDatabase.url, log, poolSize: POOL_SIZE }));
    const node = await bed.start();
    operator = testCaller(() => node, null);
  }, 90_000);
  afterAll(async () => {
    await bed[Symbol.asyncDispose]();
    await cutDatabase.close();
    await server?.stop();
  });

  /** With a file on `main` and another one on `aside`, both uncommitted. */
  async function newBrain(): Promise<string> {
    const brain = `moved-${(serial += 1)}`;
    await operator.ok('brain_switch', { name: brain, create: true });
    await operator.ok('brain_write', { brain, name: 'a.md', content: 'x' });
    await operator.ok('svc_create_branch', { brain, name: 'aside' });
    await operator.ok('brain_write', { brain, branch: 'aside', name: 'b.md', content: 'x' });
    return brain;
  }

  const call = (tool: string, args: Fields, idempotencyKey: string): Promise<Fields> =>
    operator
      .ok(tool, args, { deadlineAt: Date.now() + 10_000, idempotencyKey })
      .catch((error: Error) => ({ code: error.message }));
  const git = (brain: string, ...args: string[]) =>
    execFileSync('git', args, { cwd: join(bed.dataDir, 'brains', brain), encoding: 'utf8' })
      .trim()
      .split('\n');
  const rows = async (sql: string, values: unknown[]) => (await bed.database.pool.query(sql, values)).rows as unknown[];

  const timesTold = async (told: string, brain: string) =>
    (await rows(`SELECT FROM brain.outbox WHERE name = $1 AND payload->>'brain' = $2`, [told, brain])).length;

  const branches = async (brain: string) => ({
    refs: git(brain, 'for-each-ref', '--format=%(refname:short)', 'refs/heads'),
    files: await rows('SELECT DISTINCT branch FROM brain.brain_files WHERE brain = $1 ORDER BY branch', [brain]),
    writable: await operator.ok('svc_list_branches', { brain }).then(({ branches: all }) => (all as Fields[]).length),
  });
  const moves: readonly Move[] = [
    {
      tool: 'svc_commit',
      args: { message: 'once' },
      told: 'brain:save',
      seen: async (brain) => git(brain, 'log', '--format=%s', 'main').filter((subject) => subject === 'once'),
    },
    { tool: 'svc_create_branch', args: { name: 'new' }, told: 'branch:created', seen: branches },
    {
      tool: 'svc_branch_rename',
      args: { name: 'aside', to: 'new' },
      told: 'branch:renamed',
      seen: branches,
    },
    { tool: 'svc_branch_delete', args: { name: 'aside' }, told: 'branch:deleted', seen: branches },
  ];
  it.each(moves)(
    '$tool takes effect once, and its caller is told so',
    async ({ tool, args, told, seen }) => {
      const calm = await newBrain();
      const toldBefore = await timesTold(told, calm);
      const wanted = await call(tool, { ...args, brain: calm }, calm);
      const { length } = cutDatabase;
      const then = await seen(calm);
      for (const [cut, index] of cutsOf(length)) {
        const brain = await newBrain();
        cutDatabase.cutAt(index, cut);
        const answer = await call(tool, { ...args, brain }, brain);
        expect(cutDatabase.isCut).toBe(true);
        expect([cut, index, answer.code]).toEqual([cut, index, index < MOVED_AT ? 'SERVICE_UNAVAILABLE' : undefined]);
        const again = await call(tool, { ...args, brain }, brain);
        expect(Object.keys(again)).toEqual(Object.keys(wanted));
        if (index >= MOVED_AT) expect(again).toEqual(answer);
        expect(await seen(brain)).toEqual(then);
        expect(await timesTold(told, brain)).toBe(toldBefore + 1);
      }
    },
    180_000,
  );

  it('is stored by the next change when the database was away for longer than the call', async () => {
    const brain = await newBrain();
    const make = () => call('svc_create_branch', { brain, name: 'new' }, brain);
    cutDatabase.cutAt('COMMIT', 'unsent', 'away');
    const lost = make();
    await expect.poll(() => cutDatabase.isCut).toBe(true);
    expect(await lost).toEqual({ code: 'E_OUTCOME_UNKNOWN' });
    cutDatabase.comeBack();
    const made = await vi.waitFor(
      async () => {
        const answer = await make();
        expect(answer).toMatchObject({ name: 'new' });
        return answer;
      },
      { timeout: 20_000 },
    );
    expect(await make()).toEqual(made);
    expect(await timesTold('branch:created', brain)).toBe(2); // `aside` is the other one
    expect(readdirSync(join(bed.dataDir, 'journal')).filter((name) => name.startsWith(`${brain}.`))).toEqual([]);
  }, 60_000);

  it('keeps others from changing the brain until it is stored, and they are told that they changed nothing', async () => {
    const brain = await newBrain();
    const sql = (text: string) => bed.database.pool.query(text);
    await sql(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$`);
    await sql('CREATE TRIGGER full_disk BEFORE INSERT ON brain.event_batches EXECUTE FUNCTION full_disk()');
    expect(await call('svc_commit', { brain, message: 'once' }, brain)).toEqual({ code: 'E_OUTCOME_UNKNOWN' });
    const write = () => operator.ok('brain_write', { brain, name: 'c.md', content: 'x' });
    for (const _ of [1, 2]) await expect(write()).rejects.toMatchObject({ message: 'SERVICE_UNAVAILABLE' });
    await operator.ok('brain_read', { brain, name: 'a.md' });
    await sql('DROP FUNCTION full_disk CASCADE');
    await write();
    expect(git(brain, 'log', '--format=%s', 'main').filter((subject) => subject === 'once')).toEqual(['once']);
    expect(await timesTold('brain:save', brain)).toBe(1);
  });
});
