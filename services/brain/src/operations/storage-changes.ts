/** Files and directories that are made in a branch as an area of files. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision, neverDenied } from '@svc/contract/decision.ts';
import { confusedPath } from '../blocked-path.ts';
import { likeFolder, makeFolders } from '../files/empty-folders.ts';
import { isBelow } from '../storage/domain/tree-names.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import { FileOutcome } from '../writer/staging.ts';
import { changeOne } from './files.ts';
import { defineOperation, onBranch, once } from './operation.ts';
import { Encoding } from './storage.ts';
import type { Write } from './step.ts';
import { GUARDED, inTreeStep } from './storage-step.ts';

/** Writes one file. `isOfBytes`: it may be no text, and may replace what is none. */
export const writeStored = defineOperation({
  name: 'writeStored',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({
    ...onBranch,
    path: z.string(),
    content: z.string(),
    encoding: Encoding,
    isOfBytes: z.boolean(),
    ifMatch: z.string().nullable(),
  }),
  answer: once(FileOutcome, [...GUARDED, 'E_CONFLICT', 'E_QUOTA']),
  async run(served, { content, encoding, ...change }) {
    const written = await changeOne(served, { ...change, content: Buffer.from(content, encoding) });
    const { decision: outcome, replayed } = written;
    return { decision: neverDenied(outcome, 'E_FILE_ABSENT'), replayed };
  },
});

/** A directory of the disk; git keeps none that is empty. */
export const makeStored = defineOperation({
  name: 'makeStored',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, directory: z.string() }),
  answer: once(z.strictObject({ existed: z.boolean() }), [...GUARDED, 'E_FILE_EXISTS']),
  run: (served, { branch, directory }) => {
    const write = { ...served, branch };
    return inTreeStep(write, directory, (_staging, writer) => makeFolder(write, writer, directory));
  },
});

/** Within the step, so that the lease holds; should the step fail afterwards, an empty directory is nothing. */
function makeFolder(
  { rows }: Write,
  { tree }: BranchWriter,
  directory: string,
): Decision<Step<{ existed: boolean }>, 'E_FILE_EXISTS'> {
  const denial = rows.writeDenial(directory);
  if (denial !== null) throw new CallError(denial);
  const other = tree.table.collision(`${directory}/x`) ?? likeFolder(tree.root, directory);
  if (other !== null && !rows.isUnruled) throw new CallError('RLS_DENIED');
  if (other !== null && tree.table.get(other) !== undefined && isBelow(`${directory}/x`, other))
    return deny('E_FILE_EXISTS', { path: other });
  if (other !== null) throw confusedPath(directory, other);
  const made = makeFolders(tree.root, tree.folderOnDisk(directory));
  if (made === null) return deny('E_FILE_EXISTS', { path: directory });
  return allow({ value: { existed: !made }, events: [] });
}
