/** A process is killed while it makes a backup under a key: its repetition makes the backup, which is told once, and no other is there. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lendTables } from '@svc/testing/servers/run-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BrainProcess, startBrainProcess } from '../../testing/brain-process.ts';
import { type Cut, type CutDatabase, startCutDatabase } from '../../testing/cut-database.ts';

const server = await lendTables();
const KEYED = 'INSERT INTO "brain".idempotency';

const KILLED = [
  { when: 'before COMMIT', cut: 'unsent', path: 'a' },
  { when: 'after COMMIT', cut: 'unanswered', path: 'b' },
  { when: 'before COMMIT', cut: 'unsent', path: undefined },
] as const satisfies readonly { when: string; cut: Cut; path: string | undefined }[];

describe.skipIf(server === null)('a backup whose process is killed', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'brain-backup-killed-'));
  let cutDatabase: CutDatabase;
  let node: BrainProcess;
  let client: Client;

  beforeAll(async () => {
    cutDatabase = await startCutDatabase(server?.url ?? '', KEYED);
    client = new Client({ connectionString: server?.url });
    await client.connect();
    node = await startBrainProcess(cutDatabase.url, dataDir);
    await node.call('brain_write', { name: 'a', content: 'x' });
  }, 60_000);
  afterAll(async () => {
    await node.kill();
    await client.end();
    await cutDatabase.close();
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const backup = (path: string | undefined, idempotencyKey: string): Promise<Fields> =>
    node.call('svc_brain_backup', path === undefined ? {} : { path }, {
      deadlineAt: Date.now() + 30_000,
      idempotencyKey,
    });
  const backups = () => readdirSync(join(dataDir, 'backups'));

  it.each(KILLED)(
    '$when, with the name $path, is made by its repetition, and told once',
    async ({ cut, path }) => {
      rmSync(join(dataDir, 'backups'), { recursive: true, force: true });
      cutDatabase.cutAt('COMMIT', cut, 'held');
      void backup(path, `key-${cut}-${path}`);
      await expect.poll(() => cutDatabase.isCut).toBe(true);
      expect(backups().some((name) => name.endsWith('.svcb'))).toBe(true);
      await node.kill();
      node = await startBrainProcess(cutDatabase.url, dataDir);
      const made = await backup(path, `key-${cut}-${path}`);
      expect(made).toMatchObject({ path: path === undefined ? expect.any(String) : `${path}.svcb` });
      expect(backups().filter((name) => name.endsWith('.svcb'))).toEqual([made['path']]);
      const { rows } = await client.query(
        `SELECT 1 FROM brain.outbox WHERE name = 'backup:created' AND payload->>'path' = $1
           AND payload->>'sha256' = $2`,
        [made['path'], made['sha256']],
      );
      expect(rows).toHaveLength(1);
      // Under another key it is another one, and what is there is not replaced.
      if (path !== undefined) expect(await backup(path, `other-${path}`)).toMatchObject({ code: 'E_FILE_EXISTS' });
    },
    30_000,
  );
});
