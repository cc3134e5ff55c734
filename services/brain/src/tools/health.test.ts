import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';
import { makeTestBed, saveFiles } from '../../testing/git-test-bed.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { beat, claim, HEARTBEAT_EVERY_MS } from '../store/ownership.ts';

interface Health {
  readonly status: string;
  readonly brains: readonly { readonly name: string }[];
  readonly problems: readonly { readonly code: string; readonly text: string }[];
}

test('of brains that take longer to open than a call lasts health counts those it has not heard, and tells of the others', async () => {
  await using bed = await openBrainTestBed();
  await using made = await makeTestBed();
  await saveFiles(made.repository, { 'note.md': 'as it was' });
  const names = Array.from({ length: 60 }, (_, index) => `b${String(index).padStart(2, '0')}`);
  for (const name of names) cpSync(made.repository.dir, join(bed.dataDir, 'brains', name), { recursive: true });
  const everyName = [...names, 'svc'];
  const node = await bed.start();
  const { ok } = testCaller(() => node, null);
  const health = async (lastsMs: number): Promise<Health> => {
    const { status, brains, problems } = await ok('svc_health', {}, { deadlineAt: Date.now() + lastsMs });
    return { status, brains, problems } as Health;
  };
  // Each takes several runs of git, which no machine does this often in this time; one that does not even answer does less.
  const soon = await health(500).catch(() => health(1000));
  expect(soon.status).toBe('degraded');
  const [problem] = soon.problems;
  expect(problem).toMatchObject({ code: 'TIMEOUT', text: expect.stringMatching(/Ask again\.$/) as string });
  const [, count, first] =
    /^(\d+) brains have not answered in the time of this call \((\w+), /.exec(problem?.text ?? '') ?? [];
  expect(Number(count) + soon.brains.length).toBe(everyName.length);
  expect(soon.brains.map(({ name }) => name)).not.toContain(first);

  const later = await health(60_000);
  expect(later).toMatchObject({ status: 'ok', problems: [] });
  expect(later.brains.map(({ name }) => name)).toEqual(everyName);
  await node.stop();
}, 120_000);

test('health tells of a brain that is open, however many others do not answer', async () => {
  await using bed = await openBrainTestBed();
  await using made = await makeTestBed();
  const node = await bed.start();
  const { ok } = testCaller(() => node, null);
  const client = poolClient(bed.database.pool);
  // Whoever has them lives, as far as anybody sees, and does not answer.
  await beat(client, 'silent', 'elsewhere');
  await using _beats = keepOn(() => beat(client, 'silent', 'elsewhere'));
  for (let index = 0; index < 20; index += 1) {
    const name = `b${String(index).padStart(2, '0')}`;
    cpSync(made.repository.dir, join(bed.dataDir, 'brains', name), { recursive: true });
    expect(await claim(client, name, 'silent')).not.toBeNull();
  }
  await ok('brain_write', { name: 'note', content: 'as it is' });
  const { brains } = await ok('svc_health', {}, { deadlineAt: Date.now() + 6000 });
  expect(brains).toContainEqual(expect.objectContaining({ name: 'svc', files: 1 }));
  await node.stop();
}, 60_000);

/** Does it again and again until it is disposed of. */
function keepOn(work: () => Promise<unknown>): AsyncDisposable {
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    last = work().catch(() => undefined);
  }, HEARTBEAT_EVERY_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await last;
    },
  };
}

test('health names a database that takes no writes, for as long as that is so', async () => {
  await using bed = await openBrainTestBed();
  let takesWrites = false;
  const node = await bed.start({}, { database: { ...bed.database, ping: async () => takesWrites } });
  const { ok } = testCaller(() => node, null);
  expect(await ok('svc_health')).toMatchObject({
    status: 'degraded',
    problems: [{ code: 'E_STATE_WRITE', text: expect.stringContaining('takes no writes') as string }],
  });
  takesWrites = true;
  await expect.poll(() => ok('svc_health'), { timeout: 10_000 }).toMatchObject({ status: 'ok', problems: [] });
  await node.stop();
});
