/** What may come next in a command, from the declarations and, for names, from the node. */
import { Argument, Option } from 'commander';
import type { Client } from '@svc/client/client.ts';
import { COMMANDS } from './commands/all.ts';
import type { ArgumentDeclaration, CommandDeclaration, Completes, OptionDeclaration } from './command.ts';
import { GROUPS, optionsOf } from './program.ts';
import { argumentsOf } from './tool-text.ts';
import { valuesOf } from './tool-arguments.ts';

export interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Names of files in the current directory fit here. */
  readonly files: boolean;
}

interface CompletionQuestion {
  /** What stands before the cursor without the program's name. */
  readonly words: readonly string[];
  readonly current: string;
  /** Of the node that the words name; throws when it cannot be made. */
  client(options: Readonly<Record<string, string>>): Client;
}

const NONE: Completion = { candidates: [], files: false };

export async function complete(question: CompletionQuestion): Promise<Completion> {
  const { words, current } = question;
  const found = commandAt(words);
  if (found === null) return candidatesFor(current, commandNames(words));
  const { declaration, rest } = found;
  const options = optionsOf(declaration).map(({ option }) => option);
  const { args, given, open } = takeApart(rest, options);
  const lookup = { given, args, current, client: () => question.client(given) };
  if (open !== null) return valueOf(open, lookup);
  if (current.startsWith('-')) return candidatesFor(current, options.map(optionCandidate));
  const argument = argumentAt(declaration.args ?? [], args.length);
  return argument === undefined ? NONE : valueOf(argument, lookup);
}

function commandNames(words: readonly string[]): Candidate[] {
  const [group] = words;
  if (words.length === 0) {
    const top = COMMANDS.filter(({ name }) => !name.includes(' '));
    const groups = Object.entries(GROUPS).map(([value, meaning]) => ({ value, meaning }));
    return [...top.map(({ name, summary }) => ({ value: name, meaning: summary })), ...groups];
  }
  if (words.length > 1) return [];
  return COMMANDS.flatMap(({ name, summary }) => {
    const [first, second] = name.split(' ');
    return first === group && second !== undefined ? [{ value: second, meaning: summary }] : [];
  });
}

function commandAt(words: readonly string[]): { declaration: CommandDeclaration; rest: readonly string[] } | null {
  const named = (name: string): CommandDeclaration | undefined => COMMANDS.find((command) => command.name === name);
  const [first = '', second = ''] = words;
  const whole = named(first);
  if (whole !== undefined) return { declaration: whole, rest: words.slice(1) };
  const part = named(`${first} ${second}`);
  return part === undefined ? null : { declaration: part, rest: words.slice(2) };
}

interface TakenApart {
  readonly args: readonly string[];
  /** Options with their values, by attribute name. */
  readonly given: Readonly<Record<string, string>>;
  /** The option whose value comes next. */
  readonly open: OptionDeclaration | null;
}

function takeApart(words: readonly string[], options: readonly OptionDeclaration[]): TakenApart {
  const args: string[] = [];
  const given: Record<string, string> = {};
  let open: OptionDeclaration | null = null;
  for (const word of words) {
    if (open !== null) {
      given[new Option(open.form).attributeName()] = word;
      open = null;
    } else if (!word.startsWith('-')) args.push(word);
    else {
      const option = options.find(({ form }) => isNamed(new Option(form), word));
      open = option !== undefined && new Option(option.form).required ? option : null;
    }
  }
  return { args, given, open };
}

function argumentAt(declared: readonly ArgumentDeclaration[], position: number): ArgumentDeclaration | undefined {
  const last = declared.at(-1);
  if (position < declared.length) return declared[position];
  return last !== undefined && new Argument(last.form).variadic ? last : undefined;
}

function optionCandidate({ form, meaning }: OptionDeclaration): Candidate {
  return { value: new Option(form).long ?? form, meaning };
}

function isNamed({ short, long }: Option, word: string): boolean {
  return word === short || word === long;
}

interface Lookup {
  /** Options with their values. */
  readonly given: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly current: string;
  client(): Client;
}

async function valueOf(
  { choices, completes }: ArgumentDeclaration | OptionDeclaration,
  lookup: Lookup,
): Promise<Completion> {
  if (choices !== undefined)
    return candidatesFor(
      lookup.current,
      choices.map((value) => ({ value, meaning: '' })),
    );
  if (completes === 'file') return { candidates: [], files: true };
  if (completes === undefined) return NONE;
  const found = await LOOKUPS[completes](lookup);
  return candidatesFor(lookup.current, found);
}

const FILE_PAGE = 1000;

const LOOKUPS: Readonly<Record<Exclude<Completes, 'file'>, (lookup: Lookup) => Promise<Candidate[]>>> = {
  async tool({ client }) {
    const tools = await client().tools();
    return tools.map(({ name, description }) => ({ value: name, meaning: description }));
  },
  async 'tool-argument'({ args: [tool = ''], current, client }) {
    const { tools } = await client().call('tool_describe', { names: [tool] });
    const schema = tools[0]?.inputSchema ?? {};
    const [key, typed] = current.split('=', 2);
    if (typed !== undefined) {
      return valuesOf(schema, key ?? '').map((value) => ({ value: `${key}=${value}`, meaning: '' }));
    }
    return argumentsOf(schema).map(({ name, meaning }) => ({ value: `${name}=`, meaning }));
  },
  async event() {
    const { EVENTS } = await import('@svc/contract/events.ts');
    return Object.entries(EVENTS).map(([value, { meaning }]) => ({ value, meaning }));
  },
  async branch({ client, given: { brain } }) {
    const { branches } = await client().call('svc_list_branches', { brain });
    return branches.map(({ name, commit }) => ({ value: name, meaning: commit.slice(0, 8) }));
  },
  async 'brain-file'({ client, given: { brain, branch } }) {
    const { files } = await client().call('brain_list_files', { brain, branch, limit: FILE_PAGE });
    return files.map(({ file }) => ({ value: file, meaning: '' }));
  },
};

function candidatesFor(current: string, candidates: readonly Candidate[]): Completion {
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), files: false };
}
