/** brain_geo_*: data under its address and under a name, which may move on to other data. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import { JsonData } from '@svc/contract/json-data.ts';
import { page, TimestampMs } from '@svc/contract/params.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../../deps.ts';
import { nextCursor } from '../../tools/results.ts';
import { CHANGE_RAISES, opContext, READ_RAISES, readableBrains, settled } from '../../tools/target.ts';
import { locate } from './locate.ts';
import { addressedData, barcodeArgument, placeToRead, placeToStore } from './place.ts';

const brain = BrainName.optional().describe("Brain; default: the top of the session's stack.");
const GeoKey = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,200}$/u, 'must be 1-200 characters without control characters')
  .describe('Name of the data, 1-200 characters.');

const store = defineTool({
  name: 'brain_geo_store',
  area: 'brain',
  description: 'Stores data under its address and gives it a name; what had the name before stays readable.',
  input: z.strictObject({ key: GeoKey, data: JsonData.describe('Any JSON, at most 256 KiB as text.'), brain }),
  output: z.strictObject({
    stored: z.literal(true),
    key: z.string(),
    barcode: z.string(),
    previous: z.string().nullable().describe('What the name stood for before; null = nothing.'),
    existed: z.boolean().describe('The data was there already.'),
    brain: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_ADDRESS_COLLISION', 'E_QUOTA'],
  raises: CHANGE_RAISES,
  dress: { stored: false },
  example: { key: 'plan', data: { steps: 3 } },
  async handler({ key, data, ...wish }, context) {
    const addressed = addressedData(context, data);
    const place = await placeToStore(context, wish);
    const { actor: by } = opContext(context);
    const stored = await context.deps.addresses.store(context, { place, addressed, key, by });
    const { existed, previous } = context.take(settled(context, stored));
    return { stored: true as const, key, barcode: addressed.barcode, previous, existed, brain: place.brain };
  },
});

const load = defineTool({
  name: 'brain_geo_load',
  area: 'brain',
  description:
    'Finds the data under an address, or the document with that text, in the brains of the stack, with its names there.',
  input: z.strictObject({ barcode: barcodeArgument }),
  output: z.strictObject({
    barcode: z.string(),
    found: z.boolean(),
    data: z.unknown().optional(),
    keys: z.array(z.string()).optional().describe('The first 1000.'),
    brain: z.string().optional(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BARCODE_INVALID', 'E_ADDRESS_CORRUPT'],
  dress: { found: false },
  example: { barcode: '9-8CJRS-ZVR7Z-KG6VC-A8C1K-M' },
  async handler({ barcode: typed }, context) {
    const { barcode, found } = context.take(await locate(context, typed));
    if (found === null) return { barcode, found: false };
    return { barcode, found: true, data: found.data, keys: await found.keys(), brain: found.brain };
  },
});

const list = defineTool({
  name: 'brain_geo_list',
  area: 'brain',
  description: 'Lists the names under which data was stored in a brain.',
  input: z.strictObject({ brain, ...page }),
  output: z.strictObject({
    keys: z.array(z.strictObject({ key: z.string(), barcode: z.string(), at: TimestampMs })),
    brain: z.string(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const position = positionOf(limit, cursor);
    const place = await placeToRead(context, wish);
    const rows = await context.deps.addresses.keys(place.brainId, position);
    const { items, next } = nextPage(rows, position, ({ key }) => key);
    return { keys: [...items], brain: place.brain, ...next };
  },
});

const brains = defineTool({
  name: 'brain_geo_brains',
  area: 'brain',
  description: 'Tells of each brain how much data lies in it under addresses and names.',
  input: z.strictObject({}),
  output: z.strictObject({
    brains: z.array(z.strictObject({ name: z.string(), keys: z.int(), objects: z.int(), bytes: z.int() })),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(_input, context) {
    const names = (await readableBrains(context)).map(({ name }) => name);
    const uses = await context.deps.addresses.uses(names);
    return { brains: names.map((name) => ({ name, ...(uses.get(name) ?? { keys: 0, objects: 0, bytes: 0 }) })) };
  },
});

export const geoTools = [store, load, list, brains];
