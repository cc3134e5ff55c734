/** Subjects: dot-separated tokens; a pattern may use `*` (one token) and a trailing `>` (one or more). */

/** What deployments say to each other. Everything else is within one of them. */
export const BETWEEN_DEPLOYMENTS = 'svc.x.';

/** Below which the subjects of a named deployment lie on a server that it shares with others. */
export function spaceOf(deployment: string | undefined): string {
  return deployment === undefined ? '' : `at.${deployment}.`;
}

const LITERAL = /^[^\s.*>]+(\.[^\s.*>]+)*$/;
const PATTERN = /^(([^\s.*>]+|\*)\.)*([^\s.*>]+|\*|>)$/;

/** Throws RangeError on a subject that cannot be sent to. */
export function assertSubject(subject: string): void {
  if (!LITERAL.test(subject)) throw new RangeError(`not a subject: "${subject}"`);
}

/** Throws RangeError on a pattern that cannot be subscribed to. */
export function assertPattern(pattern: string): void {
  if (!PATTERN.test(pattern)) throw new RangeError(`not a subject pattern: "${pattern}"`);
}

export function matchesPattern(pattern: string, subject: string): boolean {
  if (pattern === subject) return true;
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  const open = wanted.at(-1) === '>';
  if (open ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  const fixed = open ? wanted.slice(0, -1) : wanted;
  return fixed.every((token, index) => token === '*' || token === tokens[index]);
}
