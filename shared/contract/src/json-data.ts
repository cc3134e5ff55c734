/** Any JSON value, as an argument: taken as it came, however deep. */
import { z } from 'zod';

/** As a sentence goes on, or null. Linear, and without recursion. */
function jsonProblem(value: unknown): string | null {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (one === undefined) return 'is required';
    if (typeof one === 'string' && !one.isWellFormed()) return 'must be text without lone surrogates';
    if (typeof one === 'number' && !Number.isFinite(one)) return 'has a number that is too large';
    if (typeof one !== 'object' || one === null) continue;
    if (!Array.isArray(one) && Object.keys(one).some((key) => !key.isWellFormed()))
      return 'must be text without lone surrogates';
    for (const inside of Object.values(one)) waiting.push(inside);
  }
  return null;
}

/** A schema that copies would lose members called `__proto__`; this one hands on what it was given. */
export const JsonData = z.unknown().superRefine((value, context) => {
  const message = jsonProblem(value);
  if (message !== null) context.addIssue({ code: 'custom', message });
});
