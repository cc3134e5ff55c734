/** Which brain and branch a command means. */
import { type CommandInput, type OptionDeclaration, textOption } from './command.ts';
import { shellWord } from './shell-word.ts';

export const PLACE_OPTIONS: readonly OptionDeclaration[] = [
  { form: '--brain <name>', meaning: 'Brain; default: the current one of the session.' },
  { form: '--branch <name>', meaning: 'Branch; default: the current one of the session.', completes: 'branch' },
];

export interface Place {
  readonly brain: string | undefined;
  readonly branch: string | undefined;
}

export function placeOf(input: CommandInput): Place {
  return { brain: textOption(input, 'brain'), branch: textOption(input, 'branch') };
}

/** The options that say it again. */
export function optionsFor(place: Place): string[] {
  return Object.entries(place).flatMap(([name, value]) =>
    typeof value === 'string' ? [`--${name}`, shellWord(value)] : [],
  );
}
