/** A backup of files that are large: what they have in common is not looked for, which took longer than a backup may take. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

const LARGE_BYTES = 3_000_000;

const bed = await bedOfFile();
const node = await bed.start();
const user = testCaller(() => node, null);

test('two large files that are nearly the same are each written whole', async () => {
  const root = join(bed.dataDir, 'brains', 'films');
  await user.ok('brain_switch', { name: 'films', create: true });
  const film = randomBytes(LARGE_BYTES);
  writeFileSync(join(root, 'one.mp4'), film);
  film[0] = 255 - (film[0] ?? 0);
  writeFileSync(join(root, 'two.mp4'), film);
  const made = await user.ok('svc_brain_backup', { brain: 'films' });
  expect(made['bytes']).toBeGreaterThan(2 * LARGE_BYTES);
  await user.ok('svc_brain_restore', { path: made['path'], brain: 'again' });
  const last = { encoding: 'base64', offset: 2 * 1024 * 1024 };
  const read = await user.ok('svc_storage_read', { brain: 'again', path: 'two.mp4', ...last });
  expect(Buffer.from(String(read['content']), 'base64').equals(film.subarray(last.offset))).toBe(true);
});
