/** A look at what is due follows what is, not how much waits. */
import { filledDatabase, rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { expect, test } from 'vitest';
import { readDue, readNextDue } from './cron/job-rows.ts';
import { claimAtOnce, lockExpired } from './streams/claim-rows.ts';

const MANY = 10_000;

const FILL = [
  `INSERT INTO universe.cron_jobs (job_key, workspace, job_id, identity, interval_ms, enabled, anchor_at, next_at)
     SELECT 'j' || n, 'acme', 'j' || n, 'x', 3600000, true, now(), now() + interval '1 hour' FROM generate_series(1, ${MANY}) n`,
  `INSERT INTO universe.streams (stream_id, workspace, name, created_by, max_attempts, lease_ms, backoff_ms, backoff_max_ms,
       retention_ms, max_items, ordered, created_at)
     VALUES ('s', 'acme', 'q', 'x', 3, 30000, 1000, 60000, 86400000, 10000, false, now())`,
  `INSERT INTO universe.work (work_id, stream_id, seq, task, status, waits, available_at, lease_expires_at, created_at)
     SELECT 'w' || n, 's', n, '{}', CASE WHEN n % 2 = 0 THEN 'working' ELSE 'pending' END, n % 2 = 1, now() + interval '1 hour',
       CASE WHEN n % 2 = 0 THEN now() + interval '1 hour' END, now() FROM generate_series(1, ${MANY}) n`,
];

const client = await filledDatabase(FILL);

const LOOKS: Readonly<Record<string, (client: SqlClient) => Promise<unknown>>> = {
  'jobs that are due': (tx) => readDue(tx, { after: null, limit: 10, heartbeatsAlone: false }),
  'when the next job is due': (tx) => readNextDue(tx),
  'leases of a queue that are over': (tx) => lockExpired(tx, 's'),
  'what somebody claims': (tx) =>
    claimAtOnce(tx, { workspace: 'acme', stream: 'q' }, [{ name: 'x', tokenHash: 'x', ttlMs: null }]),
};

test.each(Object.entries(LOOKS))('%s: a few rows tell, however many wait', async (_name, look) => {
  expect(await rowsLookedAt(client, look)).toBeLessThanOrEqual(10);
});
