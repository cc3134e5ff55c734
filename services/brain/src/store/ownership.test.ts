import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  beat,
  claim,
  DEAD_AFTER_MS,
  leave,
  readLiveProcesses,
  readOwner,
  readOwnedBrains,
  release,
} from './ownership.ts';
import { createLeaseRow, enterWriteSection } from './lease-store.ts';
import { openTestBed, type StoreTestBed } from '../../testing/store-test-bed.ts';

let bed: StoreTestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

const silence = (process: string) =>
  bed.pool.query(
    "UPDATE brain.brain_processes SET seen_at = now() - $2 * interval '1 millisecond' WHERE process = $1",
    [process, DEAD_AFTER_MS + 1],
  );

describe('who owns a brain', () => {
  it('is one process at a time, also when twenty claim at once', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
    await Promise.all(names.map((name) => beat(bed.client, name, 'node')));
    const claims = await Promise.all(names.map((name) => claim(bed.client, 'one', name)));
    expect(claims.filter((owner) => owner !== null)).toHaveLength(1);
  });

  it('passes on from the dead, from those that left and from those that let go, with a higher epoch', async () => {
    for (const name of ['a', 'b', 'c']) await beat(bed.client, name, 'node');
    const first = await claim(bed.client, 'two', 'a');
    expect(await claim(bed.client, 'two', 'b')).toBeNull();
    await silence('a');
    expect(await readOwner(bed.client, 'two')).toMatchObject({ owner: first, alive: false });
    const second = await claim(bed.client, 'two', 'b');
    expect(second?.epoch).toBeGreaterThan(first?.epoch ?? 0);
    if (second !== null) await release(bed.client, 'two', second);
    const third = await claim(bed.client, 'two', 'c');
    expect(third?.epoch).toBeGreaterThan(second?.epoch ?? 0);
    await leave(bed.client, 'c');
    expect((await claim(bed.client, 'two', 'b'))?.process).toBe('b');
    expect(await readOwnedBrains(bed.client, 'b')).toContain('two');
    expect(await readLiveProcesses(bed.client)).not.toContain('c');
  });

  it('fences a process that lost its brain: it cannot enter a write section any more', async () => {
    await beat(bed.client, 'slow', 'node');
    await beat(bed.client, 'quick', 'node');
    await createLeaseRow(bed.client, 'three');
    const slow = await claim(bed.client, 'three', 'slow');
    await silence('slow');
    const quick = await claim(bed.client, 'three', 'quick');
    if (slow === null || quick === null) throw new Error('not claimed');
    expect(await bed.transact((transaction) => enterWriteSection(transaction, 'three', slow))).toBeNull();
    expect(await bed.transact((transaction) => enterWriteSection(transaction, 'three', quick))).not.toBeNull();
    await release(bed.client, 'three', slow); // an old owner lets go of nothing
    expect(await readOwner(bed.client, 'three')).toMatchObject({ owner: quick });
  });
});
