/** A step of the writer that changes a branch as an area of files, and what a path means in it. */
import { CallError } from '@svc/contract/codes.ts';
import { type Decision, type Denial, deny } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import { isEmptyFolder } from '../files/empty-folders.ts';
import type { FileEntry } from '../files/file-entry.ts';
import { prefixOf } from '../storage/domain/tree-names.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import type { Staging } from '../writer/staging.ts';
import { isLarge } from '../writer/unserved.ts';
import { noteDenial } from './operation.ts';
import { inStep, type Write } from './step.ts';
import { isRegular } from './storage.ts';

/** With what every such step may be refused. */
export const GUARDED = [
  'E_LOCKED',
  'E_FENCED',
  'E_BRAIN_DIVERTED',
  'E_STATE_WRITE',
  'E_BRANCH_ABSENT',
  'E_LIMIT',
] as const;
/** Of one step, so that it fits into memory and into its record. */
const STEP_LIMITS = { files: 1000, bytes: 64 * 1024 * 1024 } as const;

/** As `inStep`, on the tree as it is now; a denial by the row rules goes into the audit. */
export async function inTreeStep<Value, Code extends string>(
  write: Write,
  path: string,
  judge: (staging: Staging, writer: BranchWriter) => Decision<Step<Value>, Code>,
): ReturnType<typeof inStep<Value, Code>> {
  const writer = await write.brain.writer(write.branch);
  if (writer.ok) await writer.value.catchUp();
  try {
    return await inStep(write, judge);
  } catch (error) {
    if (error instanceof CallError && error.code === 'RLS_DENIED') noteDenial(write, path, 'write');
    throw error;
  }
}

/** Everything below a directory, in order, whoever may see it. */
function entriesBelow({ tree }: BranchWriter, directory: string): FileEntry[] {
  const prefix = prefixOf(directory);
  return tree.table.sortedPaths().flatMap((path) => {
    const entry = path.startsWith(prefix) ? tree.refresh(path) : null;
    return entry === null ? [] : [entry];
  });
}

/** The file of that very name, what lies below a directory of that name, or the file with `.md`. */
export type Meant =
  | { readonly kind: 'file'; readonly entry: FileEntry }
  | { readonly kind: 'folder'; readonly below: readonly FileEntry[] };

export function meantBy({ rows }: Write, writer: BranchWriter, path: string): Meant | null {
  const seen = (name: string): FileEntry | null => {
    const entry = rows.mayRead(name) ? writer.tree.refresh(name) : null;
    return entry !== null && isRegular(entry.kind) ? entry : null;
  };
  const exact = seen(path);
  if (exact !== null) return { kind: 'file', entry: exact };
  const below = entriesBelow(writer, path);
  if (below.some((entry) => rows.mayRead(entry.path))) return { kind: 'folder', below };
  const { tree } = writer;
  if (below.length === 0 && rows.mayRead(path) && isEmptyFolder(tree.root, tree.folderOnDisk(path)))
    return { kind: 'folder', below };
  const other = candidatePaths(path)
    .map(seen)
    .find((entry) => entry !== null);
  return other === undefined ? null : { kind: 'file', entry: other };
}

/** Why they cannot be copied in one step; null = they can. */
export function exceedsCopy(entries: readonly FileEntry[]): Denial<'E_LIMIT'> | null {
  const large = entries.find(isLarge);
  if (large === undefined) return exceeds(entries);
  const { path } = large;
  return deny(
    'E_LIMIT',
    { path },
    `${path} is larger than 1 MiB: only a person changes it, in the folder of the brain.`,
  );
}

/** Why they are more than one step takes; null = they are not. */
export function exceeds(entries: readonly FileEntry[]): Denial<'E_LIMIT'> | null {
  const { files, bytes } = STEP_LIMITS;
  if (entries.length > files) {
    return deny(
      'E_LIMIT',
      { limit: files },
      `More than ${files} files at once: take the directories below one by one.`,
    );
  }
  const total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  if (total <= bytes) return null;
  return deny('E_LIMIT', { limit: bytes }, `More than ${bytes} bytes at once: take the directories below one by one.`);
}
