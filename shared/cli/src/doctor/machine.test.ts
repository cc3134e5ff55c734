import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharerLock, takeLock } from '@svc/runtime/data-lock.ts';
import { afterAll, expect, test } from 'vitest';
import type { Surroundings } from '../surroundings.ts';
import { examineMachine } from './machine.ts';

const path = mkdtempSync(join(tmpdir(), 'doctor-'));
afterAll(() => rmSync(path, { recursive: true }));

async function told(): Promise<string | undefined> {
  const surroundings = { env: { ...process.env, SVC_DATA_DIR: path }, cwd: path, version: '1' };
  const findings = await examineMachine(surroundings as unknown as Surroundings);
  return findings.find(({ name }) => name === 'data')?.found;
}

test('whose the data directory is: of nobody, of processes of a cluster, of a node', async () => {
  writeFileSync(sharerLock(path), '1 of another boot');
  expect(await told()).toBe(`${path}, no node uses it now`);
  const shared = takeLock(sharerLock(path));
  expect(await told()).toBe(`${path}, shared by processes of a cluster: ${process.pid}`);
  shared.release();
  const alone = takeLock(join(path, 'service.lock'));
  expect(await told()).toBe(`${path}, in use by process ${process.pid}`);
  alone.release();
});
