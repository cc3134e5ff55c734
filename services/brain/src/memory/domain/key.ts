/** Under which key a value is stored: that of a workspace has its name, with its length, in front. */
import { z } from 'zod';

/** Characters of the key as it is stored. */
export const MAX_STORED_KEY = 100;

const POSES_AS_WORKSPACE = /^ws[0-9]+\./;

export const MemoryKey = z
  .string()
  .regex(
    /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,100}$/u,
    'must be 1-100 characters without control or invisible characters',
  )
  .describe('Key, 1-100 characters, with the name of the workspace in front of it no more than 100.');

/** `workspace` null = the space that all callers share. As a sentence about the key goes on, or null. */
export function keyProblem(workspace: string | null, key: string): string | null {
  if (workspace === null)
    return POSES_AS_WORKSPACE.test(key) ? 'could be that of a workspace; it must not begin like ws4.' : null;
  const length = Array.from(storedKey(workspace, key)).length;
  return length > MAX_STORED_KEY
    ? `is too long for the workspace ${workspace}: stored as ws${workspace.length}.${workspace}.<key> it has ${length} characters, and may have ${MAX_STORED_KEY}`
    : null;
}

export function storedKey(workspace: string | null, key: string): string {
  return workspace === null ? key : `ws${workspace.length}.${workspace}.${key}`;
}
