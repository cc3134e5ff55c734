/** What a person does to the files of a brain while a write waits for its section. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Envelope } from '@svc/contract/rpc.ts';
import { onPostgres } from '@svc/testing/servers/on-postgres.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type BrainNode,
  type BrainTestBed,
  openBrainTestBed,
  type TestCaller,
  testCaller,
} from '../../testing/brain-test-bed.ts';
import { CLOCK_STEP_MS } from '../files/file-stamp.ts';

/** In which a write gets as far as to its section, on a slow machine too. */
const LATE_AFTER_MS = 2500;

await onPostgres((open) => {
  let bed: BrainTestBed;
  let node: BrainNode;
  let operator: TestCaller;
  let brain = '';
  let serial = 0;
  beforeAll(async () => {
    bed = await openBrainTestBed(open);
    node = await bed.start();
    operator = testCaller(() => node, null);
  }, 90_000);
  afterAll(() => bed[Symbol.asyncDispose]());
  beforeEach(async () => {
    brain = `meanwhile-${(serial += 1)}`;
    await operator.ok('brain_switch', { name: brain, create: true });
    await write('a.md', 'first');
  });

  const place = (file: string) => join(bed.dataDir, 'brains', brain, file);
  const text = (file: string) => readFileSync(place(file), 'utf8');
  const filesOf = () =>
    readdirSync(place(''), { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('.git'))
      .sort();

  function write(name: string, content: string, args: Fields = {}, over: Partial<Envelope> = {}): Promise<Fields> {
    return node
      .call('brain_write', { brain, name, content, ...args }, over)
      .catch((error: Error) => ({ code: error.message }));
  }

  /** Nobody gets into a section of the brain until that is done, which `work` has begun with before. */
  async function whileWaiting<Value>(work: () => Promise<Value>, meanwhile: () => unknown): Promise<Value> {
    const { pool } = bed.database;
    const client = await pool.connect();
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM brain.brain_leases WHERE brain = $1 FOR UPDATE', [brain]);
      const done = work();
      await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);
      await meanwhile();
      await client.query('COMMIT');
      return await done;
    } finally {
      client.release();
    }
  }

  it('writes over nothing that a person wrote and a reader has seen since the write was judged', async () => {
    const { hash: ifMatch } = await operator.ok('svc_get_memory', { brain, category: '', filename: 'a' });
    const answers = await whileWaiting(
      () => Promise.all([write('a.md', 'ours', { ifMatch }), write('b.md', 'ours', { ifMatch: 'none' })]),
      async () => {
        for (const file of ['a', 'b']) {
          writeFileSync(place(`${file}.md`), 'by a person');
          const seen = await operator.ok('svc_get_memory', { brain, category: '', filename: file });
          expect(seen).toMatchObject({ content: 'by a person' });
        }
      },
    );
    expect(answers).toMatchObject([{ code: 'E_CONFLICT' }, { code: 'E_CONFLICT' }]);
    expect([text('a.md'), text('b.md')]).toEqual(['by a person', 'by a person']);
    expect(filesOf()).toEqual(['a.md', 'b.md']);
  });

  it('leaves alone the files of a branch that a person has gone to since', async () => {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: place('') });
    await operator.ok('svc_commit', { brain, message: 'first' });
    git('branch', 'aside');
    const answer = await whileWaiting(
      () => write('a.md', 'ours'),
      () => git('checkout', '-q', 'aside'),
    );
    expect(answer).toMatchObject({ code: 'E_BRAIN_DIVERTED' });
    expect(text('a.md')).toBe('first');
    git('checkout', '-q', 'main');
    expect(await write('a.md', 'ours')).toMatchObject({ saved: true });
  });

  it('follows no link that a person has put in the place of a directory', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    await write('d/a.md', 'first');
    await new Promise((resolve) => setTimeout(resolve, 2 * CLOCK_STEP_MS)); // from then on stat data are trusted
    await operator.ok('svc_get_memory', { brain, category: 'd', filename: 'a' });
    const answers = await whileWaiting(
      () => Promise.all([write('d/a.md', 'ours'), write('d/e/f.md', 'ours'), write('d/a.md', 'ours')]),
      () => {
        renameSync(place('d'), join(outside, 'd'));
        symlinkSync(join(outside, 'd'), place('d'));
      },
    );
    expect(answers.map(({ code }) => code)).toEqual(['VAF_PATH_BLOCKED', 'VAF_PATH_BLOCKED', 'VAF_PATH_BLOCKED']);
    expect(readdirSync(outside, { recursive: true })).toEqual(['d', 'd/a.md']);
    expect(readFileSync(join(outside, 'd', 'a.md'), 'utf8')).toBe('first');
    rmSync(outside, { recursive: true });
  });

  it.each([
    ['goes on', 'is still its own', async () => undefined, { saved: true }, 'ours'],
    [
      'says that nothing was done',
      'went to another process',
      () => bed.database.pool.query('UPDATE brain.brain_owners SET epoch = epoch + 1 WHERE brain = $1', [brain]),
      { code: 'SERVICE_UNAVAILABLE' },
      'first',
    ],
  ])('after it stood still %s where the brain %s', async (_what, _where, change, expected, content) => {
    const { sinceGivenUpMs } = node.bus;
    let isBegun = false;
    const answer = await whileWaiting(
      () => {
        node.bus.sinceGivenUpMs = () => (isBegun ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
        return write('a.md', 'ours');
      },
      async () => {
        isBegun = true;
        await change();
      },
    );
    node.bus.sinceGivenUpMs = sinceGivenUpMs;
    expect(answer).toMatchObject(expected);
    expect(filesOf()).toEqual(['a.md']);
    expect(text('a.md')).toBe(content);
  });

  it('does nothing late: not when it gets into its section only then, nor when the disk lets it go on only then', async () => {
    const late = () => write('a.md', 'late', {}, { deadlineAt: Date.now() + LATE_AFTER_MS });
    const locked = await whileWaiting(late, () => sleep(LATE_AFTER_MS + 200));
    expect(locked).toHaveProperty('code');
    const fifo = place('../fifo');
    execFileSync('mkfifo', [fifo]);
    let stuck: Promise<FileHandle>[] = [];
    const slow = await whileWaiting(late, () => {
      // Whatever waits for a disk waits behind these, which nobody answers.
      stuck = Array.from({ length: 16 }, () => openFile(fifo, 'r'));
    });
    expect(slow).toHaveProperty('code');
    expect(text('a.md')).toBe('late'); // in its place, which is not sure yet
    // the time of the section is over a moment after its caller's: until then it may still be committed
    await sleep(500);
    const writer = openSync(fifo, 'r+');
    for (const one of stuck) await (await one).close();
    closeSync(writer);
    rmSync(fifo);
    await expect.poll(() => text('a.md')).toBe('first');
    expect(await write('b.md', 'next')).toMatchObject({ saved: true });
    expect(text('a.md')).toBe('first');
    expect(filesOf()).toEqual(['a.md', 'b.md']);
  });
});
