/** Arguments of the tools that see a branch as an area of files. */
import { z } from 'zod';
import { MAX_CONTENT_BYTES, PathText } from '@svc/contract/params.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { blockedPath, checkedPath } from '../../blocked-path.ts';
import { isRoot } from '../domain/tree-names.ts';

export const path = PathText.describe('Path in the brain; of a file without an extension, .md is meant.');
export const directory = PathText.describe('Directory; "", "." or "/" is the root.');
export const encoding = z
  .enum(['utf8', 'base64'])
  .optional()
  .describe('How content is written: utf8 (default), or base64 for what is no text.');

/** '' = the root. Throws VAF_PATH_BLOCKED. */
export function folderAt(named: string): string {
  return isRoot(named) ? '' : checkedPath(named);
}

/** Throws VAF_PATH_BLOCKED, for the root too. */
export function pathBelowRoot(named: string): string {
  if (isRoot(named)) throw blockedPath('is the root, which stays as it is');
  return checkedPath(named);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Text or bytes as they come in a call, at most 1 MiB of them. */
export const content = z
  .string()
  .max(2 * MAX_CONTENT_BYTES)
  .describe('Text, or with encoding base64 any bytes; at most 1 MiB of them.');

/** Throws VAF_INPUT_INVALID. */
export function checkedContent(given: string, as: 'utf8' | 'base64'): void {
  const message = problemOf(given, as);
  if (message !== null) throw invalidArguments([{ path: 'content', message }]);
}

function problemOf(given: string, as: 'utf8' | 'base64'): string | null {
  if (as === 'base64' && !BASE64.test(given)) return 'is not base64';
  if (as === 'utf8' && (!given.isWellFormed() || given.includes('\0')))
    return 'must be text without NUL or lone surrogates; encoding base64 takes any bytes';
  return Buffer.byteLength(given, as) > MAX_CONTENT_BYTES ? 'must be at most 1 MiB' : null;
}
