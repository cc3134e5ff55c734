/** Arguments as they came -> what the handler gets: aliases resolved, nulls dropped, strictly checked. */
import { CallError } from '@svc/contract/codes.ts';
import { nearestNames } from '@svc/contract/nearest.ts';
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
      throw invalidArguments(parsed.error.issues.flatMap((issue) => problemsOf(issue, known, aliases)));
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

function problemsOf(issue: z.core.$ZodIssue, known: string[], aliases: [string, Alias][]): Problem[] {
  if (issue.code !== 'unrecognized_keys')
    return [{ path: issue.path.join('.') || '(arguments)', message: issue.message }];
  const nested = issue.path.length > 0;
  return issue.keys.map((key) => ({
    path: [...issue.path, key].join('.'),
    message: nested || known.length === 0 ? 'is not known' : `is not known; nearest: ${nearest(key, known, aliases)}`,
  }));
}

function nearest(key: string, known: string[], aliases: [string, Alias][]): string {
  return nearestNames(key, [...known, ...aliases.map(([alias]) => alias)], 1)[0] ?? '';
}

export function invalidArguments(problems: readonly Problem[]): CallError {
  const sentence = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new CallError('VAF_INPUT_INVALID', sentence.slice(0, 2000), { problems });
}
