/** svc_tmp_*: files that stay for a while, shared, handed over or one's own; and the second names of the brain family. */
import { z } from 'zod';
import { page } from '@svc/contract/params.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../../deps.ts';
import { nextCursor } from '../../tools/results.ts';
import { SPACES, type Space } from '../domain/space.ts';
import { memberOf } from './member.ts';
import {
  addressee,
  asSomebody,
  clearDropboxOf,
  deleteFrom,
  deleteShape,
  getFrom,
  getShape,
  listing,
  listShape,
  listSpace,
  put,
  putInto,
  putShape,
  stored,
  storedFor,
} from './shapes.ts';

const example = { name: 'notes.txt', content: 'Look at the second chart.' };
const SECOND_NAME = { area: 'brain-dropbox' } as const;

const dropboxPutShape = {
  ...putShape,
  input: z.strictObject({ ...put, ...asSomebody }),
  output: z.strictObject(stored),
  raises: [...putShape.raises, 'FORBIDDEN'],
  example,
} as const;

const dropboxPut = defineTool({
  ...dropboxPutShape,
  name: 'svc_tmp_dropboxPut',
  description: 'Puts a file into the dropbox of the workspace for a while; a file of that name is replaced.',
  handler: async (input, context) => putInto(context, 'dropbox', input),
});

const dropFile = defineTool({
  ...dropboxPutShape,
  ...SECOND_NAME,
  name: 'svc_brain_drop_file',
  description: 'Puts a file into the dropbox of the workspace for a while; the same as svc_tmp_dropboxPut.',
  handler: async (input, context) => putInto(context, 'dropbox', input),
});

const dropboxGet = defineTool({
  ...getShape,
  name: 'svc_tmp_dropboxGet',
  description: 'Reads a file of the dropbox of the workspace.',
  handler: async ({ name }, context) => getFrom(context, 'dropbox', name),
});

const getFile = defineTool({
  ...getShape,
  ...SECOND_NAME,
  name: 'svc_brain_get_file',
  description: 'Reads a file of the dropbox of the workspace; the same as svc_tmp_dropboxGet.',
  handler: async ({ name }, context) => getFrom(context, 'dropbox', name),
});

const dropboxDelete = defineTool({
  ...deleteShape,
  name: 'svc_tmp_dropboxDelete',
  description: 'Deletes a file of the dropbox: an own one, or any for who may write in the workspace.',
  raises: [...deleteShape.raises, 'FORBIDDEN'],
  handler: async ({ name }, context) => deleteFrom(context, 'dropbox', name),
});

const deleteFile = defineTool({
  ...deleteShape,
  ...SECOND_NAME,
  name: 'svc_brain_delete_file',
  description: 'Deletes a file of the dropbox; the same as svc_tmp_dropboxDelete.',
  raises: [...deleteShape.raises, 'FORBIDDEN'],
  handler: async ({ name }, context) => deleteFrom(context, 'dropbox', name),
});

const dropboxList = defineTool({
  ...listShape,
  name: 'svc_tmp_dropboxList',
  description: 'Lists the dropbox of the workspace.',
  handler: async (input, context) => listSpace(context, 'dropbox', input),
});

const listFiles = defineTool({
  ...listShape,
  ...SECOND_NAME,
  name: 'svc_brain_list_files',
  description: 'Lists the dropbox of the workspace; the same as svc_tmp_dropboxList.',
  handler: async (input, context) => listSpace(context, 'dropbox', input),
});

const clearShape = {
  area: 'tmp',
  input: z.strictObject(asSomebody),
  output: z.strictObject({ cleared: z.literal(true), count: z.int().describe('Files that went.') }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [],
} as const;

const dropboxClear = defineTool({
  ...clearShape,
  name: 'svc_tmp_dropboxClear',
  description: "Deletes the caller's own files from the dropbox; for an admin of the workspace, all of them.",
  handler: async (_input, context) => clearDropboxOf(context),
});

const clearDropbox = defineTool({
  ...clearShape,
  ...SECOND_NAME,
  name: 'svc_brain_clear_dropbox',
  description: "Deletes the caller's own files from the dropbox; the same as svc_tmp_dropboxClear.",
  handler: async (_input, context) => clearDropboxOf(context),
});

const myPutShape = {
  ...putShape,
  input: z.strictObject({ ...put, ...asSomebody }),
  output: z.strictObject(stored),
  example,
} as const;

const myStuffPut = defineTool({
  ...myPutShape,
  name: 'svc_tmp_myStuffPut',
  description: 'Puts a file where only the caller sees it, for a while.',
  handler: async (input, context) => putInto(context, 'myStuff', input),
});

const myDrop = defineTool({
  ...myPutShape,
  ...SECOND_NAME,
  name: 'svc_brain_my_drop',
  description: 'Puts a file where only the caller sees it; the same as svc_tmp_myStuffPut.',
  handler: async (input, context) => putInto(context, 'myStuff', input),
});

const myStuffGet = defineTool({
  ...getShape,
  name: 'svc_tmp_myStuffGet',
  description: "Reads one of the caller's own temporary files.",
  handler: async ({ name }, context) => getFrom(context, 'myStuff', name),
});

const myGet = defineTool({
  ...getShape,
  ...SECOND_NAME,
  name: 'svc_brain_my_get',
  description: "Reads one of the caller's own temporary files; the same as svc_tmp_myStuffGet.",
  handler: async ({ name }, context) => getFrom(context, 'myStuff', name),
});

const myStuffDelete = defineTool({
  ...deleteShape,
  name: 'svc_tmp_myStuffDelete',
  description: "Deletes one of the caller's own temporary files.",
  handler: async ({ name }, context) => deleteFrom(context, 'myStuff', name),
});

const myStuffList = defineTool({
  ...listShape,
  name: 'svc_tmp_myStuffList',
  description: "Lists the caller's own temporary files.",
  handler: async (input, context) => listSpace(context, 'myStuff', input),
});

const myList = defineTool({
  ...listShape,
  ...SECOND_NAME,
  name: 'svc_brain_my_list',
  description: "Lists the caller's own temporary files; the same as svc_tmp_myStuffList.",
  handler: async (input, context) => listSpace(context, 'myStuff', input),
});

const yourStuffPut = defineTool({
  ...dropboxPutShape,
  name: 'svc_tmp_yourStuffPut',
  description: 'Hands a file over: to one agent of the workspace, or to everybody there.',
  input: z.strictObject({ ...put, ...addressee, ...asSomebody }),
  output: z.strictObject(storedFor),
  refuses: [...dropboxPutShape.refuses, 'AGENT_NOT_FOUND'],
  handler: async (input, context) => ({ ...(await putInto(context, 'yourStuff', input)), to: input.to ?? null }),
});

const yourStuffGet = defineTool({
  ...getShape,
  name: 'svc_tmp_yourStuffGet',
  description: 'Reads a file that was handed to the caller or to everybody, or that the caller handed over.',
  handler: async ({ name }, context) => getFrom(context, 'yourStuff', name),
});

const yourStuffDelete = defineTool({
  ...deleteShape,
  name: 'svc_tmp_yourStuffDelete',
  description: 'Deletes a file that was handed to the caller, or that the caller handed over.',
  raises: [...deleteShape.raises, 'FORBIDDEN'],
  handler: async ({ name }, context) => deleteFrom(context, 'yourStuff', name),
});

const yourStuffList = defineTool({
  ...listShape,
  name: 'svc_tmp_yourStuffList',
  description: 'Lists what was handed to the caller or to everybody, and what the caller handed over.',
  handler: async (input, context) => listSpace(context, 'yourStuff', input),
});

const ALIASES: Readonly<Record<string, Space>> = { your: 'yourStuff', my: 'myStuff' };
const namedSpace = z
  .enum([...SPACES, 'your', 'my'])
  .transform((named) => SPACES.find((space) => space === (ALIASES[named] ?? named)) ?? 'dropbox')
  .describe('dropbox = shared by the workspace, yourStuff = handed over, myStuff = only the caller.');

const tmpPut = defineTool({
  ...dropboxPutShape,
  name: 'svc_tmp_put',
  description: 'Puts a file into one of the temporary spaces.',
  input: z.strictObject({ space: namedSpace, ...put, ...addressee, ...asSomebody }),
  output: z.strictObject(storedFor),
  refuses: [...dropboxPutShape.refuses, 'AGENT_NOT_FOUND'],
  example: { space: 'dropbox', ...example },
  async handler({ space, ...file }, context) {
    if (file.to !== undefined && space !== 'yourStuff')
      throw invalidArguments([{ path: 'to', message: 'goes with the space yourStuff alone' }]);
    return { ...(await putInto(context, space, file)), to: file.to ?? null };
  },
});

const tmpGet = defineTool({
  ...getShape,
  name: 'svc_tmp_get',
  description: 'Reads a file of one of the temporary spaces.',
  input: z.strictObject({ space: namedSpace, ...getShape.input.shape }),
  example: { space: 'dropbox', ...getShape.example },
  handler: async ({ space, name }, context) => getFrom(context, space, name),
});

const tmpList = defineTool({
  name: 'svc_tmp_list',
  area: 'tmp',
  description: 'Lists one of the temporary spaces; without a space, how much lies in each.',
  input: z.strictObject({ space: namedSpace.optional(), ...asSomebody, ...page }),
  output: z.union([
    z.strictObject({ ...listing, ...nextCursor }),
    z.strictObject({
      spaces: z.array(z.strictObject({ space: z.enum(SPACES), files: z.int(), bytes: z.int() })),
    }),
  ]),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler({ space, ...input }, context) {
    if (space !== undefined) return listSpace(context, space, input);
    const { deps, caller } = context;
    const member = memberOf(caller);
    const measured = SPACES.map(async (one) => ({ space: one, ...(await deps.tmp.files.measure(member, one)) }));
    return { spaces: await Promise.all(measured) };
  },
});

export const spaceTools = [
  dropboxPut,
  dropboxGet,
  dropboxDelete,
  dropboxList,
  dropboxClear,
  myStuffPut,
  myStuffGet,
  myStuffDelete,
  myStuffList,
  yourStuffPut,
  yourStuffGet,
  yourStuffDelete,
  yourStuffList,
  tmpPut,
  tmpGet,
  tmpList,
  getFile,
  dropFile,
  listFiles,
  deleteFile,
  clearDropbox,
  myList,
  myGet,
  myDrop,
];
