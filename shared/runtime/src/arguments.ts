/** Arguments as they came -> what the handler gets: aliases resolved, nulls dropped, strictly checked. */
import { CallError } from '@svc/contract/codes.ts';
import { isAlike, nearestNames } from '@svc/contract/nearest.ts';
import type { Alias, Tool } from '@svc/contract/tool.ts';
import type { z } from 'zod';

interface Problem {
  readonly path: string;
  readonly message: string;
}

/** Prepared once per tool: which optional arguments give null a meaning. */
export function argumentParser(
  tool: Pick<Tool<never>, 'input' | 'aliases'>,
): (args: Record<string, unknown>) => unknown {
  const shape: Record<string, z.ZodType> = tool.input.shape;
  const known = Object.keys(shape);
  const nullIsAbsent = new Set(known.filter((name) => !shape[name]?.safeParse(null).success));
  const aliases = Object.entries(tool.aliases);
  return function parseArguments(args) {
    const given: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(args)) {
      if (value === null && (nullIsAbsent.has(name) || !known.includes(name))) continue;
      given[name] = value;
    }
    for (const [alias, target] of aliases)
      if (alias in given && !known.includes(alias)) resolveAlias(given, alias, target);
    const parsed = tool.input.safeParse(given);
    if (!parsed.success)
      throw invalidArguments(parsed.error.issues.flatMap((issue) => problemsOf(issue, { given, known, aliases })));
    return parsed.data;
  };
}

function resolveAlias(given: Record<string, unknown>, alias: string, target: Alias): void {
  const value = given[alias];
  delete given[alias];
  const expanded = typeof target === 'string' ? { [target]: value } : target.expand(value);
  if (expanded === null) throw invalidArguments([{ path: alias, message: 'does not fit' }]);
  for (const [name, part] of Object.entries(expanded)) {
    const alone = typeof target !== 'string' && target.alone === true;
    if (name in given && (alone || given[name] !== part)) {
      throw invalidArguments([
        { path: alias, message: alone ? `stands for ${name}` : `says something else than ${name}` },
      ]);
    }
    given[name] = part;
  }
}

interface Asked {
  readonly given: Record<string, unknown>;
  readonly known: string[];
  readonly aliases: [string, Alias][];
}

function problemsOf(issue: z.core.$ZodIssue, asked: Asked): Problem[] {
  const { known, aliases } = asked;
  const path = issue.path.join('.') || '(arguments)';
  if (issue.code === 'unrecognized_keys') {
    const nested = issue.path.length > 0;
    return issue.keys.map((key) => ({
      path: [...issue.path, key].join('.'),
      message: nested || known.length === 0 ? 'is not known' : `is not known; ${meant(key, known, aliases)}`,
    }));
  }
  if (issue.code !== 'custom' && valueAt(asked.given, issue.path) === undefined)
    return [{ path, message: `is required${standIn(issue.path, aliases)}` }];
  if (issue.code === 'invalid_union') return unionProblems(issue, asked);
  return [{ path, message: issue.message }];
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (within, key) =>
      typeof within === 'object' && within !== null && Object.hasOwn(within, key)
        ? (within as Record<PropertyKey, unknown>)[key]
        : undefined,
    value,
  );
}

/** The other names of a missing argument, which are no part of the schema. */
function standIn(path: readonly PropertyKey[], aliases: [string, Alias][]): string {
  const [name] = path;
  const names = aliases.flatMap(([alias, target]) => {
    const into = typeof target === 'string' ? [target] : target.into;
    return path.length === 1 && into.some((argument) => argument === name) ? [alias] : [];
  });
  return names.length === 0 ? '' : ` (or ${names.join(' or ')})`;
}

/** What is wrong in the form that the value comes nearest to; else the forms that it may have. */
function unionProblems(issue: z.core.$ZodIssueInvalidUnion, asked: Asked): Problem[] {
  const [nearestForm] = issue.errors
    .filter((issues) => !issues.some((inner) => inner.path.length === 0 && inner.code === 'invalid_type'))
    .sort((one, other) => one.length - other.length);
  if (nearestForm !== undefined)
    return nearestForm.flatMap((inner) => problemsOf({ ...inner, path: [...issue.path, ...inner.path] }, asked));
  const forms = issue.errors.flat().map((inner) => ('expected' in inner ? String(inner.expected) : inner.message));
  const message = forms.length === 0 ? issue.message : `must be one of these: ${[...new Set(forms)].join(', ')}`;
  return [{ path: issue.path.join('.') || '(arguments)', message }];
}

/** Whoever did not misspell a name but guessed it is told all there are. */
function meant(key: string, known: string[], aliases: [string, Alias][]): string {
  const [nearest = ''] = nearestNames(key, [...known, ...aliases.map(([alias]) => alias)], 1);
  return isAlike(key, nearest) ? `nearest: ${nearest}` : `known: ${known.join(', ')}`;
}

export function invalidArguments(problems: readonly Problem[]): CallError {
  const sentence = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new CallError('VAF_INPUT_INVALID', sentence.slice(0, 2000), { problems });
}
