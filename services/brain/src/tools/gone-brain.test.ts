/** What is said of all brains while one of them goes, or cannot be opened. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openBrainTestBed } from '../../testing/brain-test-bed.ts';

test('a brain that is deleted meanwhile is missing in what is said of all, and spoils none of it', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  await node.call('brain_write', { name: 'changed', content: 'x' });
  for (let round = 0; round < 4; round += 1) {
    const name = `going-${round}`;
    await node.call('brain_push', { name, create: true });
    await node.call('brain_write', { brain: name, name: 'a', content: 'x' });
    const deleting = node.call('brain_delete', { name, confirm: name });
    const lists: Promise<Record<string, unknown>>[] = [];
    for (let count = 0; count < 12; count += 1) {
      lists.push(node.call('svc_branch_changed_brains', {}));
      await sleep(2);
    }
    expect(await deleting).toMatchObject({ deleted: true });
    for (const list of await Promise.all(lists)) expect(list['brains']).toContain('svc');
  }
  await node.stop();
});

test('a brain that does not open is named beside what the others have', async () => {
  await using bed = await openBrainTestBed();
  let node = await bed.start();
  await node.call('brain_write', { name: 'changed', content: 'x' });
  await node.call('brain_push', { name: 'spoilt', create: true });
  await node.call('brain_write', { brain: 'spoilt', name: 'changed', content: 'x' });
  await node.stop();
  writeFileSync(join(bed.dataDir, 'brains', 'spoilt', '.git', 'config'), '[[[');
  node = await bed.start();
  expect(await node.call('svc_branch_changed_brains', {})).toEqual({
    brains: ['svc'],
    changes: [{ brain: 'svc', branch: 'main', files: 1 }],
    problems: [{ brain: 'spoilt', code: 'BRAIN_LOAD_FAIL', text: expect.any(String) }],
  });
  await node.stop();
});

test('what is uncommitted is refused where no brain can say it: an empty list would read as nothing', async () => {
  await using bed = await openBrainTestBed();
  let node = await bed.start();
  await node.call('brain_write', { name: 'changed', content: 'x' });
  await node.stop();
  writeFileSync(join(bed.dataDir, 'brains', 'svc', '.git', 'config'), '[[[');
  node = await bed.start();
  await expect(node.call('svc_branch_changed_brains', {})).rejects.toThrow('BRAIN_LOAD_FAIL');
  await node.stop();
});
