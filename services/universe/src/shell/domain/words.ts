/** A command line split into words, and nothing else: what a shell would act on is refused unless it is quoted. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

/** Blanks; a part in single quotes, in double ones, behind a backslash; or what no shell would act on. */
const PIECE = /([ \t]+)|'([^'\0]*)'|"((?:[^"\\\0]|\\[^\0])*)"|\\([^\n\r\0])|([^ \t\n\r\0'"\\;|&<>$(){}*?[~#`]+)/gsuy;
/** What a backslash takes the meaning of inside of double quotes. */
const ESCAPED_IN_QUOTES = /\\(["\\$`])/g;

export function decideWords(line: string): Decision<readonly [string, ...string[]], 'E_SHELL_SYNTAX'> {
  const words: string[] = [];
  let isInside = false;
  let end = 0;
  for (const [whole, blanks, single, double, escaped, plain] of line.matchAll(PIECE)) {
    end += whole.length;
    if (blanks === undefined) {
      const text = double?.replace(ESCAPED_IN_QUOTES, '$1') ?? [single, escaped, plain].join('');
      words.push(isInside ? `${words.pop() ?? ''}${text}` : text);
    }
    isInside = blanks === undefined;
  }
  const [program, ...rest] = words;
  if (end < line.length || program === undefined) return refused(end, line.charAt(end));
  return allow([program, ...rest]);
}

function refused(position: number, character: string) {
  return deny('E_SHELL_SYNTAX', { position, character });
}

/** Programs are named as the list has them: a path is none, whatever it leads to. */
export function decideProgram(program: string, allowed: readonly string[]): Decision<null, 'E_SHELL_DENIED'> {
  return allowed.includes(program) ? allow(null) : deny('E_SHELL_DENIED', { program: program.slice(0, 100) });
}
