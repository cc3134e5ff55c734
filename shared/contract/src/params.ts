/** Arguments that many tools share, each with its description and limits, stated once. */
import { z } from 'zod';
import { normalPath } from './file-names.ts';
import { AgentIdText, BrainName, BranchName } from './names.ts';

export const MAX_CONTENT_BYTES = 1024 * 1024;
export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1000;
/** Of a cursor behind the longest path that a file system knows. */
const MAX_CURSOR_LENGTH = 8192;

/** Row `B`: which brain and branch, instead of the session's current ones. */
export const brainAndBranch = {
  brain: BrainName.optional().describe("Brain; default: the top of the session's stack."),
  branch: BranchName.optional().describe("Branch; default: the session's branch of that brain."),
};

/** Row `G`: the lease guard. */
export const leaseGuard = {
  agentId: AgentIdText.optional().describe('Who writes, as the lease knows them.'),
  fence: z.int().min(1).optional().describe('Fence of the live lease; any other fence is refused.'),
};

/** Row `M`: compare-and-swap. */
export const ifMatch = {
  ifMatch: z
    .union([z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'), z.literal('none')])
    .optional()
    .describe('Hash the file must have now; "none" = it must not exist.'),
};

/** Row `L`: a page of a list. */
export const page = {
  limit: z.int().min(1).max(MAX_LIMIT).optional().describe(`Rows of one page, default ${DEFAULT_LIMIT}.`),
  cursor: z.string().min(1).max(MAX_CURSOR_LENGTH).optional().describe('nextCursor of the page before.'),
};

/** Row `at`: a past state. */
export const at = {
  at: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Past state: commit id (4-40 hex), branch, or rescue/<id>/ours or rescue/<id>/theirs.'),
};

/**
 * In the form under which files are known. Paths are judged by the brain itself, because a bad one is VAF_PATH_BLOCKED
 * and not VAF_INPUT_INVALID.
 */
export const PathText = z.string().overwrite(normalPath);

/** Text that comes back from disk and database as it went there. */
export const PlainText = z.string().refine((text) => text.isWellFormed() && !text.includes('\0'), {
  message: 'must be text without NUL or lone surrogates',
});

/** Text that survives the way to the disk and back byte for byte. */
export const FileContent = PlainText.refine((text) => Buffer.byteLength(text) <= MAX_CONTENT_BYTES, {
  message: 'must be at most 1 MiB as UTF-8',
}).describe('Text, at most 1 MiB as UTF-8.');

export const Sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
export const CommitId = z.string().regex(/^[0-9a-f]{40}$/);
/** Milliseconds since the epoch. */
export const TimestampMs = z.number();

/** Turns an opaque cursor back into the value it hides; anything that was not made by `encodeCursor` is null. */
export function decodeCursor(cursor: string): string | null {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  return text.startsWith('c:') && encodeCursor(text.slice(2)) === cursor ? text.slice(2) : null;
}

export function encodeCursor(position: string): string {
  return Buffer.from(`c:${position}`, 'utf8').toString('base64url');
}
