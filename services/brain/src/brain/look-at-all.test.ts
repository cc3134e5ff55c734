/** The minute's look at the working trees of all brains of a process, which closes those that nobody used for a day. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { expect, onTestFinished, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { gitIn } from '../../testing/brain-state.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';
import { QUEUE_LIMITS } from '../writer/queue.ts';

const HOUR = 3_600_000;
const bed = await bedOfFile();

const local = createLocalJobs({ log: createLog('silent', {}) });
const declared = new Map<string, JobDeclaration>();
const schedule = async (job: JobDeclaration) => void declared.set(job.id, job);
let later = 0;
const clock = { ...systemClock, now: () => systemClock.now() + later };
const node = await bed.start({}, { clock, jobs: { ...local, schedule } });
const operator = testCaller(() => node, null);
const ok = (tool: string, args: Fields) => operator.ok(tool, args, { deadlineAt: clock.now() + 60_000 });

const isOpen = (tree: string) => existsSync(join(bed.dataDir, 'worktrees', tree));

async function furnish(brain: string, branches: readonly string[]): Promise<void> {
  await ok('brain_load', { brains: brain, create: true });
  for (const branch of branches) {
    gitIn(join(bed.dataDir, 'brains', brain), 'branch', branch, 'main');
    await ok('brain_save', { brain, branch, name: 'a', content: 'x' });
  }
}

/** Those that are open still; what the watch of the disk tells late of the writes before counts as use. */
async function afterADay(open: () => string[], meanwhile = async (): Promise<unknown> => null): Promise<string[]> {
  later += 25 * HOUR;
  await meanwhile();
  await declared.get('brain.external-edit-scan')?.run({ scheduledAt: 0, signal: new AbortController().signal });
  return open();
}

test('a tree that nobody used for a day is closed however often it was looked at, and opened again by a write', async () => {
  await furnish('seen', ['clean', 'used', 'read', 'dirty']);
  await ok('brain_write', { brain: 'seen', branch: 'dirty', name: 'b', content: 'y' });
  const open = () => ['seen/clean', 'seen/used', 'seen/read', 'seen/dirty'].filter((tree) => isOpen(tree));
  const use = async () => {
    await ok('brain_save', { brain: 'seen', branch: 'used', name: 'a', content: String(later) });
    await ok('brain_read', { brain: 'seen', branch: 'read', name: 'a' });
  };
  await expect.poll(() => afterADay(open, use)).toEqual(['seen/used', 'seen/read', 'seen/dirty']);
  expect(await ok('brain_read', { brain: 'seen', branch: 'clean', name: 'a' })).toMatchObject({ content: 'x' });
  await ok('brain_write', { brain: 'seen', branch: 'clean', name: 'b', content: 'y' });
  expect(isOpen('seen/clean')).toBe(true);
});

test('a branch whose queue is full keeps no other one, nor another brain, from being looked through', async () => {
  for (const brain of ['aa', 'zz']) await furnish(brain, ['side', 'wide']);
  const { trees } = node.openBrains().find(({ context }) => context.name === 'aa') ?? {};
  const writer = (await trees?.opened('side'))?.writer;
  const free = Promise.withResolvers<void>();
  const waiting: Promise<unknown>[] = [writer?.alone(Infinity, () => free.promise) ?? Promise.reject()];
  await new Promise(setImmediate);
  for (let n = 0; n < QUEUE_LIMITS.waiting; n += 1)
    waiting.push(writer?.alone(Infinity, async () => {}) ?? free.promise);
  onTestFinished(async () => {
    free.resolve();
    await Promise.all(waiting);
  });
  await expect(writer?.alone(Infinity, async () => {})).rejects.toMatchObject({ code: 'E_BUSY' });
  const open = () => ['aa/side', 'aa/wide', 'zz/side', 'zz/wide'].filter((tree) => isOpen(tree));
  await expect.poll(() => afterADay(open)).toEqual(['aa/side']);
});
