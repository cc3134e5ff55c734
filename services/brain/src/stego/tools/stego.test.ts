import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { PNG } from 'pngjs';
import { runs } from '@svc/testing/counts.ts';
import { pngOf } from '@svc/testing/pictures.ts';
import { expect, test } from 'vitest';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

type Row = Record<string, unknown>;

const bed = await bedOfFile();
const node = await bed.start();

const user = testCaller(() => node, null);
const put = (path: string, bytes: Uint8Array) =>
  user.ok('svc_storage_write', { path, content: Buffer.from(bytes).toString('base64'), encoding: 'base64' });
const bytesAt = async (path: string) =>
  Buffer.from(String((await user.ok('svc_storage_read', { path, encoding: 'base64' }))['content']), 'base64');

/** Pixels that differ from each other, half transparent where there is alpha. */
function picture(width: number, height: number, alpha = 128): Buffer {
  const png = new PNG({ width, height });
  for (let at = 0; at < png.data.length; at += 1) png.data[at] = at % 4 === 3 ? alpha : (at * 37) % 256;
  return PNG.sync.write(png);
}

test('a message comes back with its password alone, and only low bits of colours differ', async () => {
  await put('p/a.png', picture(64, 64));
  const made = await user.ok('svc_stego_encode', {
    image: 'p/a.png',
    message: 'héllo',
    output: 'p/b.png',
    password: 'p',
  });
  expect(made).toMatchObject({ encoded: true, output: 'p/b.png', capacity: 1536 - 53, encrypted: true });
  const [before, after] = [PNG.sync.read(await bytesAt('p/a.png')), PNG.sync.read(await bytesAt('p/b.png'))];
  expect([after.width, after.height, made['bytes']]).toEqual([64, 64, (await bytesAt('p/b.png')).length]);
  const differing = [...before.data].map((byte, index) => [index % 4, byte ^ (after.data[index] ?? 0)]);
  expect(differing.every(([colour, bits]) => bits === 0 || (bits === 1 && colour !== 3))).toBe(true);
  const read = (args: Row = {}) => ({ image: 'p/b.png', ...args });
  expect(await user.ok('svc_stego_decode', read({ password: 'p' }))).toEqual({
    decoded: true,
    message: 'héllo',
    encrypted: true,
  });
  for (const args of [read(), read({ password: 'q' })])
    expect(await user.no('svc_stego_decode', args)).toMatchObject({ decoded: false, code: 'E_STEGO_PASSWORD' });
  expect(await user.no('svc_stego_decode', { image: 'p/a.png' })).toMatchObject({ code: 'E_STEGO_NONE' });
});

test('what does not fit is refused, without a file; what fits exactly comes back', async () => {
  await put('p/small.png', picture(8, 8, 255));
  const hide = (message: string) => ({ image: 'p/small.png', message, output: 'p/new.png' });
  expect(await user.no('svc_stego_encode', hide('x'.repeat(100)))).toMatchObject({
    encoded: false,
    code: 'E_STEGO_CAPACITY',
    capacity: 7,
    needed: 100,
  });
  expect(await user.ok('svc_storage_exists', { path: 'p/new.png' })).toMatchObject({ exists: false });
  await user.ok('svc_stego_encode', hide('seven..'));
  expect(await user.ok('svc_stego_decode', { image: 'p/new.png' })).toMatchObject({
    message: 'seven..',
    encrypted: false,
  });
  const flipped = PNG.sync.read(await bytesAt('p/new.png'));
  for (const at of [40, 44]) flipped.data[at * 4] = (flipped.data[at * 4] ?? 0) ^ 1;
  await put('p/flipped.png', PNG.sync.write(flipped));
  expect(await user.no('svc_stego_decode', { image: 'p/flipped.png' })).toMatchObject({ code: 'E_STEGO_CORRUPT' });
});

test.each([
  [
    'palette',
    pngOf({
      colour: 3,
      palette: Buffer.from([9, 9, 9, 200, 1, 2]),
      data: deflateSync(Buffer.alloc(8 * 9).fill(1, 1, 9)),
    }),
  ],
  ['grey', pngOf({ colour: 0, data: deflateSync(Buffer.alloc(8 * 9)) })],
  ['grey of one bit', pngOf({ colour: 0, depth: 1, data: deflateSync(Buffer.alloc(8 * 2)) })],
])('a picture in %s is converted', async (_name, bytes) => {
  await put('p/form.png', bytes);
  await user.ok('svc_stego_encode', { image: 'p/form.png', message: 'abc', output: 'p/out.png' });
  expect(await user.ok('svc_stego_decode', { image: 'p/out.png' })).toMatchObject({ message: 'abc' });
});

const whole = picture(16, 16);
const hostile: readonly (readonly [string, string, Buffer])[] = [
  ['no PNG', 'E_IMAGE_INVALID', Buffer.from('GIF89a')],
  ['cut off', 'E_IMAGE_INVALID', whole.subarray(0, whole.length - 20)],
  ['a flipped bit', 'E_IMAGE_INVALID', Buffer.from(whole.map((byte, at) => (at === 60 ? byte ^ 1 : byte)))],
  ['16 bits', 'E_IMAGE_INVALID', pngOf({ depth: 16, data: deflateSync(Buffer.alloc(8 * 65)) })],
  ['interlaced', 'E_IMAGE_INVALID', pngOf({ interlaced: 1 })],
  ['no such colour', 'E_IMAGE_INVALID', pngOf({ colour: 5 })],
  ['too few rows', 'E_IMAGE_INVALID', pngOf({ data: deflateSync(Buffer.alloc(20)) })],
  ['no pixels', 'E_IMAGE_INVALID', pngOf({ width: 0 })],
  ['data that is none', 'E_IMAGE_INVALID', pngOf({ data: Buffer.from('nothing') })],
  ['a palette without colours', 'E_IMAGE_INVALID', pngOf({ colour: 3, data: deflateSync(Buffer.alloc(8 * 9)) })],
  ['huge dimensions', 'E_IMAGE_LIMIT', pngOf({ width: 60_000, height: 60_000, data: deflateSync(Buffer.alloc(1)) })],
  ['a bomb', 'E_IMAGE_LIMIT', pngOf({ data: deflateSync(Buffer.alloc(256 * 1024 * 1024)) })],
];

test.each(hostile)('%s is %s', async (_name, code, bytes) => {
  await put('p/hostile.png', bytes);
  for (const [tool, args] of [
    ['svc_stego_decode', {}],
    ['svc_stego_encode', { message: 'x', output: 'p/never.png' }],
  ] as const)
    expect(await user.no(tool, { image: 'p/hostile.png', ...args })).toMatchObject({ code });
  expect(await user.ok('svc_storage_exists', { path: 'p/never.png' })).toMatchObject({ exists: false });
});

test('wherever it is cut off, and whichever bit is another one, a picture is refused by a code', async () => {
  const place = fc.record({ at: fc.integer({ min: 0, max: whole.length - 1 }), bit: fc.option(fc.nat(7)) });
  await fc.assert(
    fc.asyncProperty(place, async ({ at, bit }) => {
      const changed = Buffer.from(bit === null ? whole.subarray(0, at) : whole);
      if (bit !== null) changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
      await put('p/changed.png', changed);
      const { code } = await user.no('svc_stego_decode', { image: 'p/changed.png' });
      expect(['E_IMAGE_INVALID', 'E_IMAGE_LIMIT']).toContain(code);
    }),
    { numRuns: runs(400) },
  );
});

test('one pixel holds nothing, an absent file is absent, and a large one is not looked at', async () => {
  await put('p/one.png', picture(1, 1));
  expect(await user.no('svc_stego_decode', { image: 'p/one.png' })).toMatchObject({ code: 'E_STEGO_NONE' });
  const hide = (image: string) => ({ image, message: 'x', output: 'p/never.png' });
  expect(await user.no('svc_stego_encode', hide('p/one.png'))).toMatchObject({ code: 'E_STEGO_CAPACITY', capacity: 0 });
  for (const tool of ['svc_stego_encode', 'svc_stego_decode'])
    for (const [image, code] of [
      ['p/none.png', 'E_FILE_ABSENT'],
      ['p/large.png', 'E_IMAGE_LIMIT'],
      ['../x.png', 'VAF_PATH_BLOCKED'],
    ]) {
      writeFileSync(join(bed.dataDir, 'brains', 'svc', 'p', 'large.png'), Buffer.alloc(2 * 1024 * 1024));
      const args = tool === 'svc_stego_encode' ? hide(image ?? '') : { image };
      expect(await user.no(tool, args), `${tool} ${image}`).toMatchObject({ code });
    }
  expect(await user.no('svc_stego_encode', { ...hide('p/one.png'), output: '../x.png' })).toMatchObject({
    code: 'VAF_PATH_BLOCKED',
  });
});
