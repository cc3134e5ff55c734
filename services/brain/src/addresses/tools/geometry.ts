/** svc_geometry_*: documents that are found by their place, by their key and by their address. */
import { z } from 'zod';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import {
  at as pastState,
  brainAndBranch,
  FileContent,
  ifMatch,
  leaseGuard,
  PathText,
  Sha256Hex,
} from '@svc/contract/params.ts';
import { checkedPath } from '../../blocked-path.ts';
import type { ReadRefusal } from '../../brain/open-brain.ts';
import { defineTool } from '../../deps.ts';
import {
  type CallContext,
  CHANGE_RAISES,
  PATH_RAISES,
  READ_RAISES,
  resolveTarget,
  resolveWrite,
  settled,
} from '../../tools/target.ts';
import { readFile } from '../../tools/reading.ts';
import { addressOf } from '../domain/address.ts';
import { readBarcode } from '../domain/barcode.ts';
import { remember as rememberOperation } from '../operations.ts';
import { type Document, documentAt, documentsOf, type DocumentWish, orNone, viewOf } from './documents.ts';
import { placeToRead } from './place.ts';

const FOLDER = 'geometry';
const SCHEME = 'sha256/100 base32 + check';

const init = defineTool({
  name: 'svc_geometry_init',
  area: 'geometry',
  description: 'Verifies all data that lies under addresses in a brain, and says how much that is.',
  input: z.strictObject({ brain: brainAndBranch.brain }),
  output: z.strictObject({
    initialized: z.literal(true),
    scheme: z.literal(SCHEME),
    objects: z.int(),
    keys: z.int(),
    documents: z.int().describe('Files that were remembered with their text, and may be read.'),
    brain: z.string(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_ADDRESS_CORRUPT'],
  raises: READ_RAISES,
  dress: { initialized: false },
  async handler(wish, context) {
    const { brain, brainId } = await placeToRead(context, wish);
    const { addresses, rules } = context.deps;
    const { objects, keys } = context.take(await addresses.verify(brainId));
    const { mayRead } = await rules.view(context.caller.subject, brain, context.caller.registry);
    const documents = (await addresses.remembered(brainId)).filter((path) => mayRead(path)).length;
    return { initialized: true as const, scheme: SCHEME, objects, keys, documents, brain } as const;
  },
});

const remember = defineTool({
  name: 'svc_geometry_remember',
  area: 'geometry',
  description: 'Writes a document under a category and a key, and remembers it under the address of its text.',
  input: z.strictObject({
    category: PathText.min(1).describe('Directory below geometry/.'),
    key: PathText.min(1).describe('Name of the document.'),
    content: FileContent,
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject({
    stored: z.literal(true),
    success: z.literal(true),
    category: z.string(),
    key: z.string(),
    file: z.string(),
    barcode: z.string(),
    hash: Sha256Hex,
    changed: z.boolean(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [
    'E_LOCKED',
    'E_FENCED',
    'E_READ_ONLY',
    'E_BRAIN_DIVERTED',
    'E_STATE_WRITE',
    'E_BRANCH_ABSENT',
    'E_LIMIT',
    'E_QUOTA',
    'E_CONFLICT',
    'E_ADDRESS_COLLISION',
  ],
  raises: [...CHANGE_RAISES, 'VAF_PATH_BLOCKED'],
  dress: { stored: false },
  example: { category: 'city', key: 'rome', content: 'On seven hills.' },
  async handler({ category, key, content, ...wish }, context) {
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const path = checkedPath(`${FOLDER}/${category}/${key}`);
    const question = { branch, key, path, content, ifMatch: wish.ifMatch ?? null };
    const outcome = context.take(settled(context, await ask(rememberOperation, question)));
    const { file, barcode, hash, changed } = outcome;
    return {
      stored: true as const,
      success: true as const,
      category,
      key,
      file,
      barcode,
      hash,
      changed,
      brain,
      branch,
    };
  },
});

const recall = defineTool({
  name: 'svc_geometry_recall',
  area: 'geometry',
  description: 'Reads a remembered document by its category and key, or by the address of its text.',
  input: z.strictObject({
    brainPath: PathText.min(1).describe('<category>/<key>, or a barcode.'),
    ...brainAndBranch,
    ...pastState,
  }),
  output: z.strictObject({
    brainPath: z.string(),
    found: z.boolean(),
    content: z.string().nullable(),
    file: z.string().nullable(),
    barcode: z.string().nullable().describe('Address of the content.'),
    brain: z.string().nullable(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BRANCH_ABSENT', 'E_REF_ABSENT', 'E_BARCODE_INVALID'],
  raises: PATH_RAISES,
  aliases: { path: 'brainPath' },
  example: { brainPath: 'city/rome' },
  async handler({ brainPath, ...wish }, context) {
    const found = context.take(await recalled(context, brainPath, wish));
    if (found === null) return { brainPath, found: false, content: null, file: null, barcode: null, brain: null };
    const { file, content, brain } = found;
    return { brainPath, found: true, content, file, barcode: addressOf(content).barcode, brain };
  },
});

async function recalled(
  context: CallContext,
  brainPath: string,
  wish: DocumentWish,
): Promise<Decision<Document | null, ReadRefusal | 'E_BARCODE_INVALID'>> {
  const barcode = readBarcode(brainPath);
  if (barcode !== null) return documentAt(context, barcode, wish);
  if (!brainPath.includes('/')) return deny('E_BARCODE_INVALID');
  const read = orNone(await readFile(context, checkedPath(`${FOLDER}/${brainPath}`), wish));
  if (!read.ok) return read;
  return allow(read.value === null ? null : { ...read.value.view, brain: read.value.brain });
}

const knows = defineTool({
  name: 'svc_geometry_knows',
  area: 'geometry',
  description: 'Tells where documents of that key are remembered, or documents with the text of that address.',
  input: z.strictObject({ key: PathText.min(1).max(512).describe('A key, or a barcode.'), ...brainAndBranch }),
  output: z.strictObject({
    key: z.string(),
    known: z.boolean(),
    places: z.array(z.strictObject({ file: z.string(), barcode: z.string() })).describe('The first 1000.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BRANCH_ABSENT'],
  raises: READ_RAISES,
  example: { key: 'rome' },
  async handler({ key, ...wish }, context) {
    const target = await resolveTarget(context, wish);
    const barcode = readBarcode(key);
    const places: { file: string; barcode: string }[] = [];
    for (const { path } of await documentsOf(context, target, barcode === null ? { key } : { barcode })) {
      const view = await viewOf(target, path, null);
      if (!view.ok) throw context.refuse('E_BRANCH_ABSENT', view.details);
      if (view.value === null) continue;
      const present = addressOf(view.value.content).barcode;
      if (barcode === null || present === barcode) places.push({ file: view.value.file, barcode: present });
    }
    return { key, known: places.length > 0, places };
  },
});

export const geometryTools = [init, remember, recall, knows];
