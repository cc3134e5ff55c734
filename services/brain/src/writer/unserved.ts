/** What tools leave as it is, because its bytes are a person's and not served. */
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import type { FileEntry } from '../files/file-entry.ts';

/** Whether whoever deals in text, or in bytes, writes over it. */
export function isWritten(entry: FileEntry, isOfBytes: boolean): boolean {
  return entry.kind === 'text' || (isOfBytes && entry.kind === 'binary' && !isLarge(entry));
}

/** A regular file that is larger than any that tools make, so that a person has put it there: text or not. */
export function isLarge({ kind, bytes }: Pick<FileEntry, 'kind' | 'bytes'>): boolean {
  return kind === 'large' || (kind === 'binary' && bytes > MAX_CONTENT_BYTES);
}

/** Of what is neither written over nor removed: why, and what removes it; of what its caller may not see, the path alone. */
export function notChanged(entry: FileEntry | Pick<FileEntry, 'path'>, isRemoval: boolean): string {
  const rule = isRemoval && 'kind' in entry ? whatRemoves(entry) : 'a tool never writes over it.';
  return `What lies at ${entry.path} ${whyUnserved(entry)}; ${rule}`;
}

function whyUnserved(entry: FileEntry | Pick<FileEntry, 'path'>): string {
  if (!('kind' in entry)) return 'is not served';
  return isLarge(entry) ? 'is larger than 1 MiB' : (entry.problem ?? 'is not served');
}

function whatRemoves(entry: FileEntry): string {
  if (isLarge(entry)) return 'svc_storage_rm removes it once a commit has it as it is (svc_commit).';
  if (entry.kind === 'binary') return 'svc_storage_rm removes it.';
  return 'only a person removes it, in the folder of the brain.';
}
