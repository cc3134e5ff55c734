/** An effect and its audit entry belong together, wherever in between the process is killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '@svc/runtime/config.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { expect, test } from 'vitest';
import { SOON_ENDED } from '@svc/testing/soon-ended.ts';
import { openHabitatTestBed } from '../../testing/habitat-test-bed.ts';

const log = { warn() {}, fatal() {} };
const fixture = join(import.meta.dirname, '..', '..', 'testing', 'killed-between.fixture.ts');

test.each([
  ['before', { waiting: 1, entries: 0 }],
  ['after', { waiting: 1, entries: 1 }],
] as const)('killed %s the chains took the entry: it is there after the restart, once', async (point, left) => {
  const directory = temporaryFolder('audit');
  const open = () => openEmbeddedDatabase({ directory: join(directory, 'database'), log });
  const child = spawn(process.execPath, [...SOON_ENDED, fixture, directory, point], { stdio: 'inherit' });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);

  const database = await open();
  const [found] = await poolClient(database.pool).$queryRawUnsafe<unknown[]>(
    `SELECT (SELECT count(*)::int FROM habitat.audit_outbox) AS waiting,
       (SELECT count(*)::int FROM habitat.audit_entries) AS entries, (SELECT min_trust FROM habitat.trust_required) AS effect`,
  );
  expect(found).toEqual({ ...left, effect: 600_000 });
  await database.close();

  await using bed = await openHabitatTestBed(open);
  const node = await bed.start({ config: readConfig({ SVC_DATA_DIR: directory }, () => '').config });
  const { client } = node.deps.store;
  const waiting = () => client.$queryRawUnsafe<unknown[]>('SELECT id FROM habitat.audit_outbox');
  await expect.poll(waiting).toEqual([]);
  const { entries } = await node.call('svc_audit_list', { event: 'trust:required' });
  expect(entries).toMatchObject([{ seq: 1, kind: 'system', data: { permission: 'vote', minTrust: 0.6 } }]);
  expect(await node.call('svc_audit_verify')).toMatchObject({ ok: true, chains: [{ entries: 1 }] });
  await node.stop();
  rmSync(directory, { recursive: true });
});
