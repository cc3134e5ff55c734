/** How many statements a batch costs: a busy ledger places and closes holds in each of them. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { expect, it } from 'vitest';
import type { Changes } from '../domain/book.ts';
import type { Hold } from '../domain/hold.ts';
import { writeChanges } from './write.ts';

function hold(holdId: string, seq: bigint): Hold {
  const isNew = seq < 0n;
  return {
    seq,
    holdId,
    account: 'ada',
    member: null,
    amount: 1n,
    condition: null,
    state: isNew ? 'held' : 'released',
    ownerKind: 'caller',
    owner: 'ada',
    bodyHash: null,
    heldAt: 1,
    expiresAt: 2,
    closedAt: isNew ? null : 1,
    closedBy: isNew ? null : 'ada',
    captured: null,
    payee: null,
    entryId: null,
  };
}

/** Of each statement, how many holds it closes and places. */
async function statementsFor(...holds: Hold[]): Promise<[number, number][]> {
  const seen: [number, number][] = [];
  const tx = {
    async $queryRawUnsafe(_sql: string, ...values: unknown[]) {
      const [closed = 0, placed = 0] = [values[2], values[5]].map((rows) => (JSON.parse(String(rows)) as []).length);
      seen.push([closed, placed]);
      return [{ written: BigInt(closed + placed) }];
    },
  };
  const changes: Changes = { accounts: [], members: [], holds, entries: [] };
  await writeChanges(tx as unknown as SqlClient, changes, { now: 1, openers: new Map(), keyed: [] });
  return seen;
}

it('holds that are placed and others that are closed are one statement', async () => {
  expect(await statementsFor(hold('a', -1n), hold('b', 7n), hold('c', -2n))).toEqual([[1, 2]]);
});

it('a hold that is placed under the name of one that is closed comes after it', async () => {
  expect(await statementsFor(hold('a', -1n), hold('a', 7n))).toEqual([
    [1, 0],
    [0, 1],
  ]);
});
