/** What is said of all brains while one of them goes. */
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
