/** The clock of the machine jumps back by an hour while the brain is at work. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createRegistry } from '../testing/brain-test-bed.ts';
import { brainService } from './service.ts';

const HOUR = 3_600_000;

test('a clock that jumps back an hour, and on again, stops nobody from reading, writing, committing and locking', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'brain-clock-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  await using database = await migratedDatabase();
  let shiftMs = 0;
  const clock = { now: () => Date.now() + shiftMs };
  const platform = platformOn(database, { clock, bus: createLocalBus({ clock }) }, { SVC_DATA_DIR: dataDir });
  const registry = createRegistry();
  await registry.serveOn(platform);
  const service = await startService(platform, brainService);
  const call = async (tool: string, args: Fields = {}): Promise<Fields> => {
    const over = { subject: {}, registry: registry.stamp(), deadlineAt: clock.now() + 20_000 };
    const { fields } = await callTool(platform.bus, 'brain', tool, args, over);
    expect(fields['code'], JSON.stringify(fields)).toBeUndefined();
    return fields;
  };
  const commits: unknown[] = [];
  const work = async (name: string): Promise<void> => {
    await call('brain_write', { name, content: name });
    await call('brain_write', { name: 'same', content: name });
    expect(await call('brain_read', { name: 'same' })).toMatchObject({ content: name });
    expect((await call('svc_search', { query: name }))['results']).not.toEqual([]);
    commits.push((await call('svc_commit', { message: name }))['commit']);
    await call('svc_create_branch', { name: `branch-${name}` });
    const { token } = await call('svc_lock', { action: 'acquire', agentId: 'somebody' });
    await call('svc_lock', { action: 'release', token });
    expect(await call('svc_health')).toMatchObject({ status: 'ok', problems: [] });
  };
  await work('before');
  shiftMs = -HOUR;
  await work('back');
  shiftMs = 0;
  await work('again');
  expect(new Set(commits).size).toBe(3);
  await service.stop();
  await platform.jobs.close();
  await platform.bus.close();
});
