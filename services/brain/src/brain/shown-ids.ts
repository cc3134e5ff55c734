/**
 * Where answers hold ids of commits. They are renamed once, where an answer leaves its brain, so that no operation has
 * to think of whom something is hidden from.
 */
import type { CommitNames } from '../rules/commit-handles.ts';

/** Fields that hold nothing but ids of commits, one or several. */
export const ID_FIELDS: ReadonlySet<string> = new Set([
  'commit',
  'commits',
  'parent',
  'parents',
  'before',
  'after',
  'head',
  'tip',
  'remoteCommit',
  'fromCommit',
  'toCommit',
]);
const COMMIT_ID = /^[0-9a-f]{40}$/;

/** A copy. Plain data, as it crosses the bus. */
export function withShownIds<Answer>(answer: Answer, names: Pick<CommitNames, 'shown'>): Answer {
  return renamed(answer, false, names) as Answer;
}

function renamed(value: unknown, isId: boolean, names: Pick<CommitNames, 'shown'>): unknown {
  if (typeof value === 'string') return isId && COMMIT_ID.test(value) ? names.shown(value) : value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, isId, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inside]) => [field, renamed(inside, ID_FIELDS.has(field), names)]),
  );
}
