import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { expect, test } from 'vitest';
import { createRegistry } from '../testing/brain-test-bed.ts';
import { brainService } from './service.ts';

const HOUR = 3_600_000;

test('each job is declared once, and the sweeps delete what is past its time, whatever the own clock says', async () => {
  const clock = { now: () => Date.now() + 2 * HOUR };
  const dataDir = mkdtempSync(join(tmpdir(), 'brain-jobs-'));
  await using database = await migratedDatabase();
  const local = createLocalJobs({ log: createLog('silent', {}) });
  const declared: JobDeclaration[] = [];
  const jobs = {
    ...local,
    schedule(job: JobDeclaration) {
      declared.push(job);
      return local.schedule(job);
    },
  };
  const platform = platformOn(database, { jobs, clock, bus: createLocalBus({ clock }) }, { SVC_DATA_DIR: dataDir });
  await createRegistry().serveOn(platform);
  const service = await startService(platform, brainService);
  expect(declared.map(({ id }) => id).sort()).toEqual([
    'brain.context-heartbeat',
    'brain.external-edit-scan',
    'brain.lease-expiry',
    'brain.maintenance',
    'brain.memory-sweep',
    'brain.outbox-sweep',
    'brain.packing',
    'brain.row-sweep',
    'brain.session-sweep',
    'brain.tmp-sweep',
    'brain.trace-sweep',
    'brain.vectors',
  ]);

  await database.pool.query(`INSERT INTO brain.brain_sessions (session_key, stack, branches, touched_at)
    SELECT age, '[]', '{}', now() - age::interval FROM unnest(ARRAY['29 days', '31 days']) age`);
  await database.pool.query(`INSERT INTO brain.idempotency (principal, tool, key, args_hash, outcome, at)
    SELECT 'p', 't', age, 'h', '{}', now() - age::interval FROM unnest(ARRAY['23 hours', '25 hours']) age`);
  await database.pool.query(`INSERT INTO brain.brain_conflicts (id, brain, branch, file, kind, at, resolved_at)
    SELECT 'c' || n, 'b', 'main', 'f', 'content', now() - interval '3 years',
      CASE n WHEN 1 THEN NULL WHEN 2 THEN now() - interval '1 day' ELSE now() - interval '2 years' END
    FROM generate_series(1, 3) n`);
  await database.pool.query(`INSERT INTO brain.brain_memory (key, workspace, value, version, expires_at, by, at)
    SELECT life, '', '1', 1, now() + life::interval, 'ann', now() FROM unnest(ARRAY['1 hour', '-1 second']) life`);
  await database.pool.query(`INSERT INTO brain.tmp_files
      (workspace, space, owner, slot, name, content, bytes, hash, by, at, expires_at)
    SELECT 'w', 'dropbox', '', life, life, '', 0, '', 'ann', now(), now() + life::interval
    FROM unnest(ARRAY['1 hour', '-1 second']) life`);
  const run = (id: string) =>
    declared.find((job) => job.id === id)?.run({ scheduledAt: 0, signal: new AbortController().signal });
  await run('brain.session-sweep');
  await run('brain.row-sweep');
  const sessions = await database.pool.query('SELECT session_key FROM brain.brain_sessions');
  expect(sessions.rows).toEqual([{ session_key: '29 days' }]);
  const keys = await database.pool.query(`SELECT key FROM brain.idempotency WHERE principal = 'p'`);
  expect(keys.rows).toEqual([{ key: '23 hours' }]);

  await run('brain.trace-sweep');
  const conflicts = await database.pool.query('SELECT id FROM brain.brain_conflicts ORDER BY id');
  expect(conflicts.rows).toEqual([{ id: 'c1' }, { id: 'c2' }]);

  await run('brain.memory-sweep');
  await run('brain.tmp-sweep');
  const kept = await database.pool.query(
    'SELECT key FROM brain.brain_memory UNION ALL SELECT name FROM brain.tmp_files',
  );
  expect(kept.rows).toEqual([{ key: '1 hour' }, { key: '1 hour' }]);

  await service.stop();
  await platform.jobs.close();
  await platform.bus.close();
  rmSync(dataDir, { recursive: true, force: true });
});
