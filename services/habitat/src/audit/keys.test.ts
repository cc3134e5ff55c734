/** Which key signs the audit: the first that came, until it is changed on purpose. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@svc/runtime/config.ts';
import { expect, onTestFinished, test } from 'vitest';
import { type HabitatNode, type HabitatTestBed, openHabitatTestBed } from '../../testing/habitat-test-bed.ts';

const OLD = 'the old key of the audit, long enough';
const NEW = 'the new key of the audit, long enough';

async function openBed(): Promise<HabitatTestBed> {
  const bed = await openHabitatTestBed();
  onTestFinished(() => bed[Symbol.asyncDispose]());
  return bed;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-audit-keys-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** As one process of several: a key that is not configured is no excuse. */
function start(bed: HabitatTestBed, environment: Record<string, string>): Promise<HabitatNode> {
  const { config } = readConfig({ SVC_DATA_DIR: bed.dataDir, ...environment }, () => '');
  return bed.start({ config, database: { ...bed.database, exclusive: false } });
}

const log = (node: HabitatNode) => node.call('svc_audit_log', { event: 'logged', workspace: 'default' });
const signatures = (node: HabitatNode) => node.rows('SELECT chain, mac FROM habitat.audit_heads ORDER BY chain');

test('before anything was audited the key of the first process is the right one', async () => {
  const bed = await openBed();
  const first = await start(bed, { SVC_AUDIT_KEY: OLD });
  await expect(start(bed, { SVC_AUDIT_KEY: NEW, SVC_DATA_DIR: folder() })).rejects.toThrow(
    'SVC_AUDIT_KEY does not verify',
  );
  await expect(start(bed, { SVC_DATA_DIR: folder() })).rejects.toThrow(/audit\/key does not verify the stored heads/);
  await (await start(bed, { SVC_AUDIT_KEY: OLD, SVC_DATA_DIR: folder() })).stop();
  expect(await first.call('svc_audit_verify')).toMatchObject({ ok: true });
  await first.stop();
});

test('a key takes the place of another one while processes with either run, and no chain breaks', async () => {
  const bed = await openBed();
  const old = await start(bed, { SVC_AUDIT_KEY: OLD });
  await log(old);
  await old.call('svc_audit_log', { event: 'logged', workspace: null });
  await old.deps.audit.saveAll();
  const before = await signatures(old);
  await old.stop();

  const prepared = await start(bed, { SVC_AUDIT_KEY: OLD, SVC_AUDIT_KEY_ALSO: NEW });
  const changed = await start(bed, { SVC_AUDIT_KEY: NEW, SVC_AUDIT_KEY_ALSO: OLD });
  for (const node of [prepared, changed, prepared, changed, prepared]) await log(node);
  expect(await changed.call('svc_audit_verify')).toMatchObject({ ok: true });
  expect(await prepared.call('svc_audit_verify')).toMatchObject({ ok: true });
  await prepared.stop();
  await changed.deps.audit.saveAll();
  const after = await signatures(changed);
  expect(after.map(({ chain }) => chain)).toEqual(before.map(({ chain }) => chain));
  await changed.stop();

  const last = await start(bed, { SVC_AUDIT_KEY: NEW });
  await log(last);
  expect(await last.call('svc_audit_verify')).toMatchObject({ ok: true });
  await last.stop();
  await expect(start(bed, { SVC_AUDIT_KEY: OLD, SVC_DATA_DIR: folder() })).rejects.toThrow('does not verify');
});

test('the other key vouches for no end that it did not sign', async () => {
  const bed = await openBed();
  const node = await start(bed, { SVC_AUDIT_KEY: OLD, SVC_AUDIT_KEY_ALSO: NEW });
  await log(node);
  await node.rows(`UPDATE habitat.audit_heads SET mac = 'forged' WHERE chain = 'default'`);
  await node.deps.audit.saveAll();
  expect(await node.call('svc_audit_verify', { workspace: 'default' })).toMatchObject({ ok: false });
  await node.stop();
});

test('a configured key takes the place of the one that was made in the data directory', async () => {
  const bed = await openBed();
  const made = join(bed.dataDir, 'audit', 'key');
  const first = await start(bed, {});
  await log(first);
  await first.stop();
  await expect(start(bed, { SVC_AUDIT_KEY: NEW })).rejects.toThrow(
    `SVC_AUDIT_KEY_ALSO to base64: and the output of base64 -w0 ${made}`,
  );

  const before = `base64:${readFileSync(made, 'base64')}`;
  const changing = await start(bed, { SVC_AUDIT_KEY: NEW, SVC_AUDIT_KEY_ALSO: before });
  await log(changing);
  expect(await changing.call('svc_audit_verify')).toMatchObject({ ok: true });
  await changing.deps.audit.saveAll();
  await changing.stop();
  rmSync(made);

  const last = await start(bed, { SVC_AUDIT_KEY: NEW });
  expect(await last.call('svc_audit_verify')).toMatchObject({ ok: true });
  await last.stop();
  await expect(start(bed, { SVC_AUDIT_KEY: before, SVC_DATA_DIR: folder() })).rejects.toThrow('does not verify');
});

test('a file that holds less than a key signs nothing', async () => {
  const bed = await openBed();
  const made = join(bed.dataDir, 'audit', 'key');
  await (await start(bed, {})).stop();
  const key = readFileSync(made);
  for (const left of [0, 31]) {
    writeFileSync(made, key.subarray(0, left));
    await expect(start(bed, {})).rejects.toThrow(`audit/key holds ${left} bytes and no key of the audit`);
    expect(readFileSync(made)).toHaveLength(left);
  }
  writeFileSync(made, key);
  const whole = await start(bed, {});
  expect(await whole.call('svc_audit_verify')).toMatchObject({ ok: true });
  await whole.stop();
});
