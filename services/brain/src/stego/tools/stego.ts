/** svc_stego_encode, svc_stego_decode: messages in the low bits of pictures. */
import { z } from 'zod';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import {
  at,
  brainAndBranch,
  ifMatch,
  leaseGuard,
  MAX_CONTENT_BYTES,
  PathText,
  Sha256Hex,
} from '@svc/contract/params.ts';
import { defineTool } from '../../deps.ts';
import { readStored } from '../../operations/storage.ts';
import { writeStored } from '../../operations/storage-changes.ts';
import { pathBelowRoot } from '../../storage/tools/shapes.ts';
import { firstAnswer } from '../../tools/reading.ts';
import {
  type CallContext,
  CHANGE_REFUSES,
  PATH_RAISES,
  READ_REFUSES,
  resolveReads,
  resolveWrite,
  settled,
  WRITE_RAISES,
} from '../../tools/target.ts';

const MAX_MESSAGE_BYTES = 65_536;
/** Kept back of a call's time for what comes after the picture. */
const ANSWER_MS = 2000;

const image = PathText.describe('Path of a PNG of at most 8 megapixels and 1 MiB, not interlaced, 8 bits a sample.');
const Message = z
  .string()
  .min(1)
  .refine((text) => text.isWellFormed() && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES, {
    message: 'must be text of at most 64 KiB as UTF-8',
  });
const password = z.string().min(1).max(256).optional();

interface StoredImage {
  readonly content: string;
  readonly bytes: number;
}
type Reading = 'E_BRANCH_ABSENT' | 'E_REF_ABSENT' | 'E_FILE_ABSENT';

/** Of a file that was asked for in base64. */
function pictureIn(answer: Decision<StoredImage, Reading | 'E_NOT_TEXT'>): Decision<Buffer, Reading | 'E_IMAGE_LIMIT'> {
  if (!answer.ok) {
    const { code, details, message } = answer;
    if (code === 'E_NOT_TEXT') throw new Error('bytes were asked for as such');
    return deny(code, details, message);
  }
  const { content, bytes } = answer.value;
  if (bytes > MAX_CONTENT_BYTES) return deny('E_IMAGE_LIMIT', { bytes, limit: MAX_CONTENT_BYTES });
  return allow(Buffer.from(content, 'base64'));
}

/** The call leaves in time whatever the picture is. */
function leftMs({ caller, deps }: CallContext): number {
  return caller.deadlineAt - deps.syncs.now() - ANSWER_MS;
}

const encode = defineTool({
  name: 'svc_stego_encode',
  area: 'stego',
  description: 'Hides a message in a PNG: another file that looks the same; with a password encrypted.',
  input: z.strictObject({
    image,
    message: Message,
    output: PathText.refine((path) => /\.png$/i.test(path), { message: 'must end in .png' }).describe(
      'Path of the new PNG.',
    ),
    password: password.describe('Encrypts the message; without it, whoever knows where to look reads it.'),
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject({
    encoded: z.literal(true),
    output: z.string(),
    bytes: z.int(),
    capacity: z.int().describe('Bytes that a message in this picture may have.'),
    encrypted: z.boolean(),
    hash: Sha256Hex,
  }),
  access: 'identified',
  effect: 'write',
  refuses: [
    ...CHANGE_REFUSES,
    'E_QUOTA',
    'E_CONFLICT',
    'E_FILE_ABSENT',
    'E_IMAGE_INVALID',
    'E_IMAGE_LIMIT',
    'E_STEGO_CAPACITY',
  ],
  raises: WRITE_RAISES,
  dress: { encoded: false },
  example: { image: 'pictures/dot.png', message: 'x', output: 'pictures/note.png' },
  async handler({ image: named, message, output, password: secret = null, ...wish }, context) {
    const [from, to] = [pathBelowRoot(named), pathBelowRoot(output)];
    const { ask, branch } = await resolveWrite(context, wish);
    const question = { branch, path: from, at: null, encoding: 'base64', offset: 0 } as const;
    const read = pictureIn(await ask(readStored, question));
    const code = read.ok || read.code === 'E_REF_ABSENT' ? 'E_BRANCH_ABSENT' : read.code;
    const picture = context.take(read.ok ? read : deny(code, read.details, read.message));
    const hiding = { image: picture, message, password: secret };
    const hidden = context.take(await context.deps.stego.hide(hiding, leftMs(context)));
    const limit = MAX_CONTENT_BYTES;
    if (hidden.image.length > limit) throw context.refuse('E_IMAGE_LIMIT', { bytes: hidden.image.length, limit });
    const content = Buffer.from(hidden.image).toString('base64');
    const change = {
      branch,
      path: to,
      content,
      encoding: 'base64',
      isOfBytes: true,
      ifMatch: wish.ifMatch ?? null,
    } as const;
    const { file, bytes, hash } = context.take(settled(context, await ask(writeStored, change)));
    return { encoded: true as const, output: file, bytes, capacity: hidden.capacity, encrypted: secret !== null, hash };
  },
});

const decode = defineTool({
  name: 'svc_stego_decode',
  area: 'stego',
  description: 'Reads the message that svc_stego_encode has hidden in a PNG.',
  input: z.strictObject({ image, password, ...brainAndBranch, ...at }),
  output: z.strictObject({ decoded: z.literal(true), message: z.string(), encrypted: z.boolean() }),
  access: 'public',
  effect: 'read',
  refuses: [
    ...READ_REFUSES,
    'E_FILE_ABSENT',
    'E_IMAGE_INVALID',
    'E_IMAGE_LIMIT',
    'E_STEGO_NONE',
    'E_STEGO_PASSWORD',
    'E_STEGO_CORRUPT',
  ],
  raises: PATH_RAISES,
  dress: { decoded: false },
  example: { image: 'pictures/note.png' },
  async handler({ image: named, password: secret = null, ...wish }, context) {
    const question = { path: pathBelowRoot(named), at: wish.at ?? null, encoding: 'base64', offset: 0 } as const;
    const answer = await firstAnswer(await resolveReads(context, wish), ({ ask, branch }) =>
      ask(readStored, { ...question, branch }),
    );
    const picture = context.take(pictureIn(answer.ok ? allow(answer.value.value) : answer));
    const found = await context.deps.stego.seek({ image: picture, password: secret }, leftMs(context));
    return { decoded: true as const, ...context.take(found) };
  },
});

export const stegoTools = [encode, decode];
