/** What tools leave as it is, because its bytes are a person's and not served. */
import type { EntryKind, FileEntry } from '../files/file-entry.ts';

/** Whether whoever deals in text, or in bytes, writes over it. */
export function isWritten({ kind }: FileEntry, isOfBytes: boolean): boolean {
  return kind === 'text' || (isOfBytes && kind === 'binary');
}

/** Of what is neither written over nor removed: why, and what removes it. */
export function notChanged(
  entry: Pick<FileEntry, 'path' | 'problem'> & Partial<FileEntry>,
  isRemoval: boolean,
): string {
  const { path, problem, kind } = entry;
  const rule = isRemoval && kind !== undefined ? whatRemoves(kind) : 'a tool never writes over it.';
  return `What lies at ${path} ${problem ?? 'is not served'}; ${rule}`;
}

function whatRemoves(kind: EntryKind): string {
  if (kind === 'binary') return 'svc_storage_rm removes it.';
  if (kind === 'large') return 'svc_storage_rm removes it once a commit has it as it is (svc_commit).';
  return 'only a person removes it, in the folder of the brain.';
}
