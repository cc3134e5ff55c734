import { type CommandInput, textOption } from './command.ts';
import { UsageProblem } from './problems.ts';

/** What a script left empty would count as absent, and a node would start on other data. Throws UsageProblem. */
export function folderOption(input: CommandInput, name: string): string | undefined {
  const path = textOption(input, name);
  if (path === '') throw new UsageProblem(`--${name}: is empty.`);
  return path;
}
