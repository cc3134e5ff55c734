/** A restore, and a branch whose files are laid out, on a disk that has room for a part of them. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { codeOf } from '../client.ts';
import { mountSmallDisk, type SmallDisk } from '@svc/testing/small-disk.ts';
import { ownTarget, verifies } from '../verifies.ts';

const DISK_MIB = 160;
/** From what takes the parts of the backup alone to what takes everything. */
const ROOM_KIB = [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

let disk: SmallDisk | null = null;

const target = ownTarget(
  async () => {
    disk = mountSmallDisk(DISK_MIB);
    const environment: Record<string, string> = disk === null ? {} : { SVC_DATA_DIR: join(disk.path, 'data') };
    return { environment, dispose: async () => disk?.dispose() };
  },
  { only: 'embedded', fresh: {} },
);

verifies(
  'disk:restore',
  async ({ fresh, place }) => {
    if (disk === null) return;
    const { user, brain } = await fresh();
    for (let index = 0; index < 40; index += 1)
      await user.ok('brain_write', { name: `n${index}`, content: `${index} `.repeat(8000) });
    await user.ok('brain_save', { name: 'kept', content: 'old' });
    const { path } = await user.ok('svc_brain_backup', { path: brain });
    await user.ok('brain_save', { name: 'kept', content: 'new' });
    onTestFinished(() => disk?.empty());
    const codes: (string | null)[] = [];
    for (const leftKib of ROOM_KIB) {
      const side = `side-${leftKib}`;
      await user.ok('svc_create_branch', { name: side });
      disk.fill(leftKib);
      const written = await user.call('brain_write', { branch: side, name: 'side', content: side });
      expect([null, 'E_STATE_WRITE'], `${leftKib} KiB: ${written.text}`).toContain(codeOf(written));
      disk.empty();
      await user.ok('brain_write', { branch: side, name: 'side', content: side });
      disk.fill(leftKib);
      const reply = await user.call('svc_brain_restore', { path });
      codes.push(codeOf(reply));
      expect([null, 'E_STATE_WRITE'], `${leftKib} KiB: ${reply.text}`).toContain(codeOf(reply));
      disk.empty();
      expect(readdirSync(join(place.dataDir, 'backups')).filter((name) => name.startsWith('.'))).toEqual([]);
      const content = codeOf(reply) === null ? 'old' : 'new';
      expect(await user.ok('brain_read', { name: 'kept' })).toMatchObject({ content });
      if (codeOf(reply) === null) break;
    }
    expect([codes[0], codes.at(-1)]).toEqual(['E_STATE_WRITE', null]);
  },
  { on: target },
);
