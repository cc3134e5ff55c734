/** Backup and restore by the scripts that the guide names, with callers who do not stop for it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { servicesAlive } from '../targets/cluster.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const target = ownTarget({}, { only: 'cluster' });

function run(script: string, { dataDir, servers }: TargetPlace, folder: string): Promise<{ stdout: string }> {
  const environment = { PATH: process.env['PATH'], DATABASE_URL: servers?.database, SVC_DATA_DIR: dataDir };
  return promisify(execFile)(join(DEPLOY, script), [folder], { env: environment });
}

/** Logs and makes budgets without a pause, until it is told to stop. */
function keepBusy(caller: Caller, pool: string): { readonly stop: () => Promise<number> } {
  let isOver = false;
  let count = 0;
  const loop = async () => {
    while (!isOver) {
      await caller.call('svc_audit_log', { event: 'busy', workspace: 'default' });
      await caller.call('escrow_create', { org: `${pool}-${count}` });
      // a chain that begins is saved beside the database at once: one that the dump does not have would show
      await caller.call('svc_habitat_createWorkspace', { workspaceId: `${pool}-${count}` });
      count += 1;
    }
  };
  const ended = loop();
  return {
    async stop() {
      isOver = true;
      await ended;
      return count;
    },
  };
}

verifies(
  'operation:backup',
  async ({ place, report }) => {
    const cluster = target.get();
    const backup = join(place.root, 'backup');
    const operator = new Caller(place);
    const org = newName('org');
    const { caller: member } = memberAt(await createMembers(place, 'editor'), 0);
    await operator.ok('svc_set_memory', { category: 'kept', filename: 'one', content: 'before the backup' });
    await operator.ok('escrow_create', { org, budget: 17 });
    await expect(run('backup.sh', place, backup)).rejects.toThrow('stop the brain processes first');

    const busy = keepBusy(operator, newName('busy'));
    for (const brain of cluster.brains) expect(await brain.stop()).toBe(0);
    await run('backup.sh', place, backup);
    for (const brain of cluster.brains) brain.spawn();
    for (const url of place.gateways) await servicesAlive(url, ['brain'], cluster.brains.length);
    const during = await busy.stop();
    expect(during).toBeGreaterThan(3);
    await operator.ok('svc_set_memory', { category: 'kept', filename: 'one', content: 'after the backup' });
    await operator.ok('svc_set_memory', { category: 'kept', filename: 'two', content: 'after the backup' });
    await expect(run('restore.sh', place, backup)).rejects.toThrow('move it away first');

    for (const one of cluster.everybody) expect(await one.stop(), one.tail()).toBe(0);
    await rename(place.dataDir, `${place.dataDir}-before`);
    await run('restore.sh', place, backup);
    expect(existsSync(join(place.dataDir, 'audit', 'checkpoints'))).toBe(true);
    for (const one of cluster.everybody) one.spawn();
    await cluster.whole();

    expect(await operator.ok('svc_audit_verify')).toMatchObject({ ok: true });
    expect(await member.ok('svc_audit_log', { event: 'after' })).toMatchObject({ logged: true });
    expect(await operator.ok('svc_get_memory', { category: 'kept', filename: 'one' })).toMatchObject({
      content: 'before the backup',
    });
    expect(await operator.ok('escrow_status', { org })).toMatchObject({ budget: { limit: 17 } });
    await waitFor(async () => (await operator.ok('svc_audit_verify'))['ok'] === true, { what: 'the audit to verify' });
    report(`backup beside ${during} rounds of calls: restored, the audit verifies`);
  },
  { on: target, timeoutMs: 300_000 },
);
