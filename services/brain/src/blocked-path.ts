/** The refusal of a path, in words that say what is wrong with it. */
import { CallError } from '@svc/contract/codes.ts';
import { explainFilePath, type PathProblem } from '@svc/contract/names.ts';

/** `problem` completes "The path …". */
export function blockedPath(problem: string | PathProblem): CallError {
  if (typeof problem === 'string') return new CallError('VAF_PATH_BLOCKED', `The path ${problem}.`);
  const { reason, segment, character } = problem;
  return new CallError('VAF_PATH_BLOCKED', `The path ${reason}.`, { segment, character });
}

/** Throws VAF_PATH_BLOCKED. */
export function checkedPath(path: string): string {
  const problem = explainFilePath(path);
  if (problem !== null) throw blockedPath(problem);
  return path;
}

/** `other`: the name in use with which a new `path`, or a directory above it, would be confused. */
export function confusedPath(path: string, other: string): CallError {
  const segment = path.split('/')[other.split('/').length - 1] ?? path;
  const isSame = path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`);
  const reason = isSame
    ? `has the segment ${JSON.stringify(segment)}, which is in use for something of another kind`
    : `has the segment ${JSON.stringify(segment)}, which some file systems take for a name in use`;
  return blockedPath({ segment, character: null, reason });
}
