/** Names and paths that people and agents choose, each kind checked by one rule. */
import { z } from 'zod';

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$/;
const BRANCH_SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
const EXTENSION = /\.[A-Za-z][A-Za-z0-9]{0,9}$/;
const RESERVED_BRANCHES = new Set(['head', 'brain', 'rescue']);

export const MAX_PATH_DEPTH = 8;
export const MAX_PATH_BYTES = 512;

/** Why `path` is no legal file path (one sentence without the path itself), or null when it is one. */
export function filePathProblem(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  const segments = path.split('/');
  if (segments.length > MAX_PATH_DEPTH) return `is deeper than ${MAX_PATH_DEPTH} segments`;
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== null) return problem;
  }
  return null;
}

function segmentProblem(segment: string): string | null {
  if (!SEGMENT.test(segment)) {
    return 'has a segment that does not start with a letter or digit, is longer than 100 characters, or has characters other than letters, digits, dot, underscore, space and dash';
  }
  if (/[. ]$/.test(segment)) return 'has a segment that ends in a dot or a space';
  if (segment.includes('..')) return 'has two dots in a row';
  if (WINDOWS_DEVICE.test(segment)) return 'uses a device name';
  if (/^git~\d/i.test(segment)) return 'uses a reserved name';
  return null;
}

export function isFilePath(path: string): boolean {
  return filePathProblem(path) === null;
}

/** True when the last segment has an extension: a dot, a letter, up to nine letters or digits. */
export function hasExtension(path: string): boolean {
  return EXTENSION.test(path.slice(path.lastIndexOf('/') + 1));
}

/** The paths that `path` may mean, in order of look-up; the last one is what a new file is called. */
export function candidatePaths(path: string): readonly string[] {
  return hasExtension(path) ? [path] : [path, `${path}.md`];
}

/** Two names that fold to the same text would be one file on some file systems. */
export function foldCase(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

export function branchNameProblem(name: string): string | null {
  if (name.length > 100) return 'is longer than 100 characters';
  const segments = name.split('/');
  if (segments.length > MAX_PATH_DEPTH) return `has more than ${MAX_PATH_DEPTH} segments`;
  for (const segment of segments) {
    if (!BRANCH_SEGMENT.test(segment)) return 'has a segment that is not letters, digits, dot, underscore and dash';
    if (segment.endsWith('.lock') || segment.endsWith('.')) return 'has a segment that ends in .lock or a dot';
    if (segment.includes('..')) return 'has two dots in a row';
  }
  return RESERVED_BRANCHES.has(foldCase(segments[0] ?? '')) ? 'is reserved' : null;
}

export const BrainName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1-64 letters, digits, dots, underscores or dashes')
  .refine(
    (name) => !name.endsWith('.') && !name.includes('..') && !WINDOWS_DEVICE.test(name) && !name.endsWith('.lock'),
    {
      message: 'must not end in a dot or .lock, hold two dots in a row or be a device name',
    },
  )
  .describe('Brain name.');

export const BranchName = z
  .string()
  .min(1)
  .max(100)
  .superRefine((name, context) => {
    const problem = branchNameProblem(name);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .describe('Branch name.');

export const WorkspaceName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9._-]{0,63}$/,
    'must be 1-64 letters, digits, dots, underscores or dashes, starting with a letter',
  )
  .refine((name) => name.toLowerCase() !== 'public', { message: 'public is not a workspace' })
  .describe('Workspace name.');

/** Control characters would let a name forge log lines and commit headers. */
export const AgentIdText = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}<>]{1,100}$/u, 'must be 1-100 characters without control characters or angle brackets')
  .describe('Agent id.');

/** Whatever a subject may be called; what the registry keeps is an `IdentityId`. */
export const SubjectId = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}<>]{1,128}$/u, 'must be 1-128 characters without control characters or angle brackets');

const RESERVED_IDENTITY = /^(anonymous|system|operator|default)$|^(ws|sink|crew|scenario):/;

/** A user or an agent as the registry keeps it: one namespace for both. */
export const IdentityId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}$/,
    'must be 1-128 letters, digits or ._@:- and start with a letter or digit',
  )
  .refine((id) => !RESERVED_IDENTITY.test(id), { message: 'is reserved' })
  .describe('User or agent id.');

/** What a policy is attached to, such as `doc`, `_island:<name>` or `brain:<brain>/<path>`. */
export const ResourceKey = z
  .string()
  .regex(
    /^[\p{L}\p{N}_](?:[^\p{C}\p{Z}\\"'`]| ){0,639}$/u,
    'must be 1-640 printable characters without quotes and backslashes, starting with a letter, digit or underscore',
  )
  .refine((key) => !key.endsWith(' ') && key !== '__proto__', { message: 'must not end in a space or be __proto__' })
  .describe('Resource key.');

/** What agents, organisations, departments, teams and team roles are called. */
export const DisplayName = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,98}[A-Za-z0-9._-])?$/,
    'must be 1-100 letters, digits, spaces, dots, underscores or dashes, starting with a letter or digit',
  );
