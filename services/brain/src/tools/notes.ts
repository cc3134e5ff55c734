/** The core notes of a brain: a few files at its root. */
import { z } from 'zod';
import { at, brainAndBranch, FileContent, ifMatch, leaseGuard, PathText, Sha256Hex } from '@svc/contract/params.ts';
import { blockedPath, checkedPath } from '../blocked-path.ts';
import { defineTool } from '../deps.ts';
import { readFile } from '../operations/files.ts';
import { writeStored } from '../operations/storage-changes.ts';
import {
  CHANGE_RAISES,
  CHANGE_REFUSES,
  READ_RAISES,
  READ_REFUSES,
  resolveTarget,
  resolveWrite,
  settled,
} from './target.ts';

const NOTES = ['identity', 'goals', 'preferences', 'lessons', 'errors', 'reflection'] as const;

const myStuff = defineTool({
  name: 'svc_brain_my_stuff',
  area: 'brain-dropbox',
  description: `Reads the core notes of the brain, as many as there are: ${NOTES.join(', ')}.`,
  input: z.strictObject({ ...brainAndBranch, ...at }),
  output: z.strictObject({
    stuff: z.record(z.string(), z.string()).describe('Their texts.'),
    loaded: z.array(z.string()),
    count: z.int(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: READ_RAISES,
  async handler(wish, context) {
    const { ask, brain, branch } = await resolveTarget(context, wish);
    const stuff: Record<string, string> = {};
    for (const path of NOTES) {
      const answer = await ask(readFile, { branch, path, at: wish.at ?? null });
      if (answer.ok) stuff[path] = answer.value.content;
      else if (answer.code !== 'E_FILE_ABSENT' && answer.code !== 'E_NOT_TEXT')
        throw context.refuse(answer.code, answer.details, answer.message);
    }
    const loaded = Object.keys(stuff);
    return { stuff, loaded, count: loaded.length, brain, branch };
  },
});

const updateMyStuff = defineTool({
  name: 'svc_brain_update_my_stuff',
  area: 'brain-dropbox',
  description: `Writes a note at the root of the brain; the core notes are ${NOTES.join(', ')}.`,
  input: z.strictObject({
    key: PathText.describe('Name of the note; without an extension, .md is meant.'),
    content: FileContent,
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject({
    updated: z.literal(true),
    key: z.string(),
    file: z.string(),
    hash: Sha256Hex,
    changed: z.boolean(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [...CHANGE_REFUSES, 'E_QUOTA', 'E_CONFLICT'],
  raises: [...CHANGE_RAISES, 'VAF_PATH_BLOCKED'],
  example: { key: 'goals', content: 'Answer within a minute.' },
  async handler({ key, content, ...wish }, context) {
    if (key.includes('/')) throw blockedPath('has directories; a note lies at the root of the brain');
    const path = checkedPath(key);
    const { ask, branch } = await resolveWrite(context, wish);
    const change = {
      branch,
      path,
      content,
      encoding: 'utf8' as const,
      isOfBytes: false,
      ifMatch: wish.ifMatch ?? null,
    };
    const { file, hash, changed } = context.take(settled(context, await ask(writeStored, change)));
    return { updated: true as const, key, file, hash, changed };
  },
});

export const noteTools = [myStuff, updateMyStuff];
