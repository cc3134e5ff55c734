/** Names and paths that people and agents choose, each kind checked by one rule. */
import { z } from 'zod';
import { hasInvisible, MAX_PATH_DEPTH, normalPath } from './file-names.ts';
import { foldCase } from './fold-case.ts';

export {
  candidatePaths,
  decideWrite,
  filesOfStem,
  hasExtension,
} from './extension-rule.ts';
export {
  explainFilePath,
  filePathProblem,
  isFilePath,
  MAX_PATH_DEPTH,
  normalPath,
  type PathProblem,
} from './file-names.ts';
export { foldCase } from './fold-case.ts';

const BRANCH_SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
const RESERVED_BRANCHES = new Set(['head', 'brain', 'rescue']);

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
  .regex(/^[^\p{Cc}\p{Cf}\p{Cs}<>]{1,100}$/u, 'must be 1-100 characters without control characters or angle brackets')
  .describe('Agent id.');

/** Whatever a subject may be called; what the registry keeps is an `IdentityId`. */
export const SubjectId = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}<>]{1,128}$/u, 'must be 1-128 characters without control characters or angle brackets');

const RESERVED_IDENTITY = /^(anonymous|system|operator|default)$|^(ws|in|sink|crew|scenario):/;

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
  .overwrite(normalPath)
  .regex(
    /^[\p{L}\p{N}_][^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\\"]{0,639}$/u,
    'must be 1-640 printable characters without " and backslashes, starting with a letter, digit or underscore',
  )
  .refine((key) => !key.endsWith(' ') && key !== '__proto__', { message: 'must not end in a space or be __proto__' })
  .refine((key) => !hasInvisible(key), { message: 'must not hold invisible characters' })
  .describe('brain:<brain>, brain:<brain>/<path>, _island:<name> or an own name.');

/** What agents, organisations, departments, teams and team roles are called. */
export const DisplayName = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,98}[A-Za-z0-9._-])?$/,
    'must be 1-100 letters, digits, spaces, dots, underscores or dashes, starting with a letter or digit',
  );
