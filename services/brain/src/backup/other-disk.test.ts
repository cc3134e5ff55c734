/** Backups on another disk than that of the brains. */
import { cpSync, existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const deviceOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.dev;
const elsewhere = ['/dev/shm', '/var/tmp'].find((path) => ![undefined, deviceOf(bed.dataDir)].includes(deviceOf(path)));

it.runIf(elsewhere)(
  'are made there, and make no brain, and take none, that could not be moved from there or to there',
  async () => {
    const disk = mkdtempSync(join(elsewhere ?? '', 'svc-backups-'));
    afterAll(() => rmSync(disk, { recursive: true, force: true }));
    const node = await bed.start();
    const { ok, no } = testCaller(() => node, null);
    await ok('brain_load', { brains: 'b', create: true });
    await ok('brain_save', { brain: 'b', name: 'x', content: 'x' });
    const { path } = await ok('svc_brain_backup', { brain: 'b' });
    const shelf = join(bed.dataDir, 'backups');
    cpSync(shelf, disk, { recursive: true });
    rmSync(shelf, { recursive: true });
    symlinkSync(disk, shelf);
    expect(await no('svc_brain_restore', { path, brain: 'again' })).toMatchObject({ code: 'E_STATE_WRITE' });
    expect(existsSync(join(bed.dataDir, 'brains/again'))).toBe(false);
    for (const [tool, args] of [
      ['svc_brain_restore', { path, brain: 'b' }],
      ['brain_delete', { name: 'b', confirm: 'b' }],
    ] as const)
      expect(await no(tool, args), tool).toMatchObject({ code: 'E_STATE_WRITE' });
    expect(await ok('svc_brain_backup', { brain: 'b', path: 'there' })).toMatchObject({ files: 1 });
    expect(existsSync(join(disk, 'there.svcb'))).toBe(true);
    expect(await ok('brain_read', { brain: 'b', name: 'x' })).toMatchObject({ content: 'x' });
  },
);
