/** A command is data: the program, its help, the guide and the completion in shells read the same declaration. */
import type { Surroundings } from './surroundings.ts';
import type { Terminal } from './terminal.ts';
import type { Client } from '@svc/client/client.ts';

/** What may stand in an argument or behind an option, for completion. */
export type Completes = 'tool' | 'tool-argument' | 'event' | 'file' | 'branch' | 'brain-file';

export interface ArgumentDeclaration {
  /** As commander writes it: `<needed>`, `[optional]`, `[many...]`. */
  readonly form: string;
  readonly meaning: string;
  readonly completes?: Completes;
  readonly choices?: readonly string[];
}

export interface OptionDeclaration {
  /** As commander writes it: `-m, --message <text>`. */
  readonly form: string;
  readonly meaning: string;
  readonly completes?: Completes;
  readonly choices?: readonly string[];
  /** Of one that may stand alone: the word behind it is its value only if it looks so. */
  readonly takes?: RegExp;
}

export interface CommandInput {
  /** In the order of the declaration; one that takes many has all of them. */
  readonly args: readonly (string | readonly string[] | undefined)[];
  /** By the long name in camel case. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
}

export interface CommandContext {
  readonly surroundings: Surroundings;
  readonly terminal: Terminal;
  /** The node at the address, with the credential, of this command. */
  readonly client: Client;
  /** Until the person leaves it. The command ends with the exit code of the last one there. */
  openPrompt(): Promise<void>;
  /** Aborted when the person wants to end it. */
  readonly signal: AbortSignal;
}

export interface CommandDeclaration {
  /** One word, or two: a command of a group. */
  readonly name: string;
  readonly summary: string;
  /** What else a reader should know, a sentence each. */
  readonly notes?: readonly string[];
  readonly args?: readonly ArgumentDeclaration[];
  readonly options?: readonly OptionDeclaration[];
  /** Talks to no node: the options that say which one are not taken. */
  readonly isLocal?: true;
  /** Runs when its group is named alone. */
  readonly isDefault?: true;
  readonly examples?: readonly string[];
  run(context: CommandContext, input: CommandInput): Promise<void>;
}

/** The text of an option that takes one; undefined when it was not given. */
export function textOption({ options }: CommandInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

export function textArgument({ args }: CommandInput, index: number): string | undefined {
  const value = args[index];
  return typeof value === 'string' ? value : undefined;
}

export function manyArguments({ args }: CommandInput, index: number): readonly string[] {
  const value = args[index];
  return typeof value === 'object' ? value : [];
}
