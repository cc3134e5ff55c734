/** Whether two requests ask for the same of an index. */
import type { SearchRequest } from './search-answer.ts';

/** As it is now: chains may be admitted to its set later. */
export function keptRequest(request: SearchRequest): SearchRequest {
  return { ...request, admitted: request.admitted === null ? null : new Set(request.admitted) };
}

/** Functions and objects are the same where they are one; what may be read is compared. */
export function isSameRequest(one: SearchRequest, other: SearchRequest): boolean {
  const { admitted: mine, ...left } = one;
  const { admitted: theirs, ...right } = other;
  const rest: Readonly<Record<string, unknown>> = right;
  const entries = Object.entries(left);
  return (
    entries.length === Object.keys(right).length &&
    entries.every(([name, value]) => Object.is(rest[name], value)) &&
    isSameSet(mine, theirs)
  );
}

function isSameSet(one: ReadonlySet<number> | null, other: ReadonlySet<number> | null): boolean {
  if (one === null || other === null) return one === other;
  return one.size === other.size && [...one].every((chain) => other.has(chain));
}
