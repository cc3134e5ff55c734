import { execFileSync } from 'node:child_process';
import { constants, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type BrainTestBed, openBrainTestBed } from '../testing/brain-test-bed.ts';

/** To write, as soon as somebody reads. */
async function openForReader(fifo: string): Promise<FileHandle> {
  for (;;) {
    const file = await open(fifo, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null);
    if (file !== null) return file;
    await delay(10);
  }
}

it('the heart of a process beats also while it opens a brain', async () => {
  await using bed = await openBrainTestBed();
  const first = await bed.start();
  await first.call('brain_switch', { name: 'slow', create: true });
  await first.stop();

  // Reading this journal takes until somebody has written it.
  const journal = join(bed.dataDir, 'journal', 'slow.stp_1');
  execFileSync('mkfifo', [journal]);
  const second = await bed.start();
  const reading = second.call('svc_list_branches', { brain: 'slow' });
  const writer = await openForReader(journal);
  const beats = new Set<string>();
  const countBeats = async () => {
    const { rows } = await bed.database.pool.query<{ at: string }>(
      'SELECT max(seen_at)::text AS at FROM brain.brain_processes',
    );
    beats.add(rows[0]?.at ?? '');
    return beats.size;
  };
  try {
    // One may have been under way when the opening began.
    await expect.poll(countBeats).toBeGreaterThanOrEqual(4);
  } finally {
    await writer.writeFile(JSON.stringify({ brain: 'other', branch: 'main', changes: [] }));
    await writer.close();
    await reading;
    await second.stop();
  }
});

it('a process whose data directory is not that of those that run does not start, and takes no brain from them', async () => {
  await using bed = await openBrainTestBed();
  const elsewhere = mkdtempSync(join(tmpdir(), 'brain-elsewhere-'));
  const first = await bed.start();
  await expect(bed.start({ SVC_DATA_DIR: elsewhere })).rejects.toThrow(
    `SVC_DATA_DIR: ${elsewhere} is not the directory in which the brains of this database are kept by test`,
  );
  expect(readdirSync(elsewhere)).toEqual([]);
  const { rows } = await bed.database.pool.query('SELECT process FROM brain.brain_processes');
  expect(rows).toHaveLength(1);
  const second = await bed.start(); // on the same one
  await second.stop();
  await first.stop();
  // Nobody is left who would be contradicted: a backup may lie in another place.
  await (await bed.start({ SVC_DATA_DIR: elsewhere })).stop();
  rmSync(elsewhere, { recursive: true });
});

it('a process that would speak under another name than those that run does not start', async () => {
  await using bed = await openBrainTestBed();
  const first = await bed.start({ SVC_NODE_NAME: 'alpha' });
  for (const environment of [{}, { SVC_NODE_NAME: 'beta' }]) {
    await expect(bed.start(environment)).rejects.toThrow(
      'SVC_NODE_NAME: test, working on the brains of this database, speaks under another name',
    );
  }
  await (await bed.start({ SVC_NODE_NAME: 'alpha' })).stop();
  await first.stop();
  await (await bed.start()).stop();
});

/** A process was killed that worked on all brains, and the clock of the database was set back by an hour since. */
async function killedBeforeTheClockWasSetBack({ database: { pool } }: BrainTestBed, directory: string | null) {
  await pool.query(
    `INSERT INTO brain.brain_processes (process, node_id, started_at, seen_at, directory)
     VALUES ('dead', 'dead', now() + interval '1 hour', now() + interval '1 hour', $1)`,
    [directory],
  );
  await pool.query("UPDATE brain.brain_owners SET process = 'dead', epoch = epoch + 1");
}

it('the brains of a process that died before the clock was set back are taken over in seconds', async () => {
  await using bed = await openBrainTestBed();
  const first = await bed.start();
  await first.call('brain_switch', { name: 'its', create: true });
  await first.call('brain_write', { brain: 'its', name: 'a', content: 'x' });
  await first.stop();
  const second = await bed.start();
  await killedBeforeTheClockWasSetBack(bed, null);
  expect(await second.call('brain_read', { brain: 'its', name: 'a' })).toMatchObject({ content: 'x' });
  await second.stop();
});

it('a process starts beside the heartbeat of a dead one that was in another directory before the clock was set back', async () => {
  await using bed = await openBrainTestBed();
  await killedBeforeTheClockWasSetBack(bed, 'elsewhere');
  await (await bed.start()).stop();
});
