/** svc_memory_address and svc_memory_locate: data under its address. */
import { z } from 'zod';
import { JsonData } from '@svc/contract/json-data.ts';
import { brainAndBranch, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { defineTool } from '../../deps.ts';
import { CHANGE_RAISES, opContext, settled } from '../../tools/target.ts';
import { locate } from './locate.ts';
import { addressedData, barcodeArgument, placeToStore } from './place.ts';

const { brain } = brainAndBranch;

const address = defineTool({
  name: 'svc_memory_address',
  area: 'memory',
  description: 'Stores data under its address, the same for equal data on every node, and says which that is.',
  input: z.strictObject({ data: JsonData.describe('Any JSON, at most 256 KiB as text.'), brain }),
  output: z.strictObject({
    barcode: z.string(),
    hash: Sha256Hex.describe('Of a text its UTF-8, of all else its canonical JSON (RFC 8785).'),
    existed: z.boolean(),
    bytes: z.int(),
    brain: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_ADDRESS_COLLISION', 'E_QUOTA'],
  raises: CHANGE_RAISES,
  example: { data: { recipe: 'bread', rises: 2 } },
  async handler({ data, ...wish }, context) {
    const addressed = addressedData(context, data);
    const place = await placeToStore(context, wish);
    const { actor: by } = opContext(context);
    const stored = await context.deps.addresses.store(context, { place, addressed, key: null, by });
    const { existed } = context.take(settled(context, stored));
    const { barcode, sha256: hash, bytes } = addressed;
    return { barcode, hash, existed, bytes, brain: place.brain };
  },
});

const locateData = defineTool({
  name: 'svc_memory_locate',
  area: 'memory',
  description: 'Finds the data that lies under an address, or the document with that text, in the brains of the stack.',
  input: z.strictObject({ barcode: barcodeArgument }),
  output: z.strictObject({
    barcode: z.string(),
    found: z.boolean(),
    data: z.unknown().optional(),
    brain: z.string().optional(),
    storedAt: TimestampMs.optional(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BARCODE_INVALID', 'E_ADDRESS_CORRUPT'],
  dress: { found: false },
  example: { barcode: '9-8CJRS-ZVR7Z-KG6VC-A8C1K-M' },
  async handler({ barcode: typed }, context) {
    const { barcode, found } = context.take(await locate(context, typed));
    if (found === null) return { barcode, found: false };
    const { data, brain: name, storedAt } = found;
    return { barcode, found: true, data, brain: name, storedAt };
  },
});

export const objectTools = [address, locateData];
