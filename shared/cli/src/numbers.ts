import { type CommandInput, textOption } from './command.ts';
import { UsageProblem } from './problems.ts';

/** How many an option wants, at least one; undefined when it was not given. Throws UsageProblem. */
export function wholeNumber(input: CommandInput, name: string): number | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  if (/^0*[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageProblem(`--${name}: "${text}" is no whole number from 1 on.`);
}

/** Undefined when it was not given. Throws UsageProblem. */
export function portNumber(input: CommandInput, name: string): string | undefined {
  const text = textOption(input, name);
  if (text === undefined || (/^\d{1,5}$/.test(text) && Number(text) <= 65_535)) return text;
  throw new UsageProblem(`--${name}: "${text}" is no port, which is a number from 0 to 65535.`);
}
