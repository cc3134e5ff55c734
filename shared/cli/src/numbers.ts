import { type CommandInput, textOption } from './command.ts';
import { UsageProblem } from './problems.ts';

/** Of an option; undefined when it was not given. Throws UsageProblem. */
export function wholeNumber(input: CommandInput, name: string): number | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageProblem(`--${name}: "${text}" is no whole number.`);
}
