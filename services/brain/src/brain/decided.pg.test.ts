/** The database goes away when a restore, a deletion or another name is decided, before the directories have followed. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BrainTestBed, openBrainTestBed, type TestCaller, testCaller } from '../../testing/brain-test-bed.ts';
import { type CutDatabase, startCutDatabase } from '../../testing/cut-database.ts';

const server = await lendPostgres();
const POOL_SIZE = 20;
const log = { warn() {}, fatal() {} };
/** By this statement the transaction in which the directories are moved is known. */
const CARRIES_OUT = 'OR "to" = $1 FOR UPDATE';

describe.skipIf(server === null)('a brain whose way is decided when the database goes away', () => {
  let cutDatabase: CutDatabase;
  let bed: BrainTestBed;
  let operator: TestCaller;
  let brain = '';
  let serial = 0;

  beforeAll(async () => {
    cutDatabase = await startCutDatabase(server?.url ?? '', CARRIES_OUT);
    bed = await openBrainTestBed(() => openPostgresDatabase({ url: cutDatabase.url, log, poolSize: POOL_SIZE }));
    const node = await bed.start();
    operator = testCaller(() => node, null);
  }, 90_000);
  afterAll(async () => {
    cutDatabase.comeBack();
    await bed[Symbol.asyncDispose]();
    await cutDatabase.close();
    await server?.stop();
  });
  beforeEach(async () => {
    brain = `decided-${(serial += 1)}`;
    await operator.ok('brain_switch', { name: brain, create: true });
    await operator.ok('brain_save', { brain, name: 'a.md', content: 'old' });
    await operator.ok('svc_brain_backup', { brain, path: brain });
    await operator.ok('brain_save', { brain, name: 'a.md', content: 'new' });
  });

  /** Nothing is known of it any more from that statement of the transaction on, BEGIN being 0. */
  async function cutAt(index: number | 'COMMIT', tool: string, args: Fields): Promise<Fields> {
    cutDatabase.cutAt(index, 'unsent', 'away');
    const answer = operator.ok(tool, args, { deadlineAt: Date.now() + 30_000 });
    await answer.catch(() => {});
    cutDatabase.comeBack();
    expect(cutDatabase.isCut).toBe(true);
    return answer;
  }
  const content = async (name: string) => (await operator.ok('brain_read', { brain: name, name: 'a.md' }))['content'];
  const leftovers = () => readdirSync(join(bed.dataDir, 'backups')).filter((name) => name.startsWith('.'));

  describe.each([1, 'COMMIT'] as const)('at statement %s of what moves its directories', (index) => {
    it('is restored', async () => {
      const restored = await cutAt(index, 'svc_brain_restore', { path: brain });
      expect(restored).toMatchObject({ status: 'restored', brain });
      expect(await content(brain)).toBe('old');
      expect(existsSync(join(bed.dataDir, String(restored['kept']), 'brain', 'a.md'))).toBe(true);
      expect(leftovers()).toEqual([]);
    });

    it('is made from a backup', async () => {
      const name = `${brain}-made`;
      expect(await cutAt(index, 'svc_brain_restore', { path: brain, brain: name })).toMatchObject({ brain: name });
      expect(await content(name)).toBe('old');
      expect(leftovers()).toEqual([]);
    });

    it('has another name', async () => {
      const to = `${brain}-renamed`;
      expect(await cutAt(index, 'brain_rename', { name: brain, to })).toMatchObject({ renamed: true, name: to });
      expect(await content(to)).toBe('new');
    });

    it('is deleted', async () => {
      const { kept } = await cutAt(index, 'brain_delete', { name: brain, confirm: brain });
      await expect(content(brain)).rejects.toThrow('BRAIN_LOAD_FAIL');
      expect(existsSync(join(bed.dataDir, String(kept), 'brain', 'a.md'))).toBe(true);
    });
  });
});
