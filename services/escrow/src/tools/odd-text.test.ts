import { migratedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import { startEscrowNode } from '../../testing/escrow-test-bed.ts';

test('a text that no row could hold is the fault of the caller', async () => {
  await using database = await migratedDatabase();
  const node = await startEscrowNode(database);
  for (const [tool, args] of [
    ['escrow_release', { holdId: 'a\0b' }],
    ['escrow_hold', { holdId: 'odd', condition: { note: 'a\0b' } }],
    ['escrow_status', { org: 'a\0b' }],
  ] as const) {
    expect([tool, await node.call(tool, args).then(String, ({ message }: Error) => message)]).toEqual([
      tool,
      'VAF_INPUT_INVALID',
    ]);
  }
  await node.stop();
});
