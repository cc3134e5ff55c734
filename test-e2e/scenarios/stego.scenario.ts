/** Messages in pictures. */
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect } from 'vitest';
import type { Caller } from '../client.ts';
import { pictureOf, pngOf, sizeOf } from '@svc/testing/pictures.ts';
import { plantingPlace } from '../instruments/outside.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const put = (user: Caller, path: string, bytes: Buffer) =>
  user.ok('svc_storage_write', { path, content: bytes.toString('base64'), encoding: 'base64' });

verifies('stego:hidden', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await put(user, 'quay.png', pictureOf(64, 64));
  const note = { image: 'quay.png', message: 'héllo', output: 'note.png', password: 'p' };
  expect(await user.ok('svc_stego_encode', note)).toMatchObject({ encoded: true, capacity: 1483, encrypted: true });
  const made = readFileSync(join(brainFolder(place, brain), 'note.png'));
  expect(sizeOf(made)).toEqual([64, 64]);
  expect(made.includes('héllo')).toBe(false);
  const read = { image: 'note.png' };
  expect(await user.ok('svc_stego_decode', { ...read, password: 'p' }, { gateway: 1 })).toEqual({
    decoded: true,
    message: 'héllo',
    encrypted: true,
  });
  await user.refused('E_STEGO_PASSWORD', 'svc_stego_decode', { ...read, password: 'q' });
  expect(await user.refused('E_STEGO_PASSWORD', 'svc_stego_decode', read)).toMatchObject({ decoded: false });
  const { commit } = await user.ok('svc_commit', { message: 'a picture' });
  await user.ok('svc_stego_encode', { ...note, message: 'another' });
  const before = await user.ok('svc_stego_decode', { ...read, password: 'p', at: commit });
  expect(before).toMatchObject({ message: 'héllo' });
});

verifies('stego:capacity', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await put(user, 'dot.png', pictureOf(8, 8));
  const note = (message: string) => ({ image: 'dot.png', message, output: 'note.png' });
  const refused = await user.refused('E_STEGO_CAPACITY', 'svc_stego_encode', note('x'.repeat(100)));
  expect(refused).toMatchObject({ encoded: false, capacity: 7, needed: 100 });
  await user.refused('E_STEGO_CAPACITY', 'svc_stego_encode', note('eight by'));
  await user.refused('E_STEGO_CAPACITY', 'svc_stego_encode', { ...note('x'), password: 'p' });
  expect(existsSync(join(brainFolder(place, brain), 'note.png'))).toBe(false);
  await user.ok('svc_stego_encode', note('exactly'));
  expect(await user.ok('svc_stego_decode', { image: 'note.png' })).toMatchObject({ message: 'exactly' });
});

verifies('stego:hostile', async ({ fresh }) => {
  const { user } = await fresh();
  await put(user, 'clean.png', pictureOf(16, 16));
  await user.refused('E_STEGO_NONE', 'svc_stego_decode', { image: 'clean.png' });
  const hostile: [string, string, Buffer][] = [
    ['E_IMAGE_INVALID', 'cut', pictureOf(16, 16).subarray(0, -30)],
    ['E_IMAGE_LIMIT', 'huge', pngOf({ width: 60_000, height: 60_000, data: deflateSync(Buffer.alloc(1)) })],
    ['E_IMAGE_LIMIT', 'bomb', pngOf({ data: deflateSync(Buffer.alloc(128 * 1024 * 1024)) })],
  ];
  for (const [code, name, bytes] of hostile) {
    await put(user, `${name}.png`, bytes);
    await user.refused(code, 'svc_stego_decode', { image: `${name}.png` });
    await user.refused(code, 'svc_stego_encode', { image: `${name}.png`, message: 'x', output: 'never.png' });
  }
  expect(await user.ok('svc_storage_exists', { path: 'never.png' })).toMatchObject({ exists: false });
});

verifies('stego:outside', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await put(user, 'dot.png', pictureOf(8, 8));
  const folder = brainFolder(place, brain);
  const outside = plantingPlace(place, `outside-${brain}.png`);
  writeFileSync(outside, 'kept');
  symlinkSync(outside, join(folder, 'link.png'));
  symlinkSync(place.root, join(folder, 'up'));
  const note = { image: 'dot.png', message: 'hi' };
  for (const output of ['../x.png', 'up/../../x.png', '.git/x.png', `up/${relative(place.root, outside)}`])
    await user.fails('VAF_PATH_BLOCKED', 'svc_stego_encode', { ...note, output });
  await user.refused('E_CONFLICT', 'svc_stego_encode', { ...note, output: 'link.png' });
  await user.refused('E_FILE_ABSENT', 'svc_stego_decode', { image: 'link.png' });
  expect(readFileSync(outside, 'utf8')).toBe('kept');
  expect(existsSync(join(place.root, 'x.png'))).toBe(false);
});
