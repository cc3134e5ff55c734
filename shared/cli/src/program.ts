/** The commands as a commander program: parsing and help are its business, what they are is in the declarations. */
import { Argument, Command, CommanderError, Option } from 'commander';
import type { CommandDeclaration, CommandInput, OptionDeclaration } from './command.ts';
import { COMMANDS } from './commands/all.ts';
import { CONNECTION_OPTIONS } from './connection.ts';
import { UsageProblem } from './problems.ts';

export const FORM_OPTIONS: readonly OptionDeclaration[] = [
  { form: '--json', meaning: 'JSON lines, also at a terminal.' },
  { form: '--text', meaning: 'Text, also in a pipe.' },
];

/** Commands of two words belong to one of these. */
export const GROUPS: Readonly<Record<string, string>> = {
  branch: 'Branches of a brain.',
  token: 'Tokens of agents.',
};

export interface Chosen {
  readonly declaration: CommandDeclaration;
  readonly input: CommandInput;
}

interface ProgramOptions {
  readonly version: string;
  readonly columns: number;
  readonly hasColour: boolean;
  write(text: string): void;
  /** Gets what the person asked for; not called for help. */
  choose(chosen: Chosen): void;
}

/** All options of a command with its heading; '' = its own. */
export function optionsOf(declaration: CommandDeclaration): readonly { heading: string; option: OptionDeclaration }[] {
  const own = (declaration.options ?? []).map((option) => ({ heading: '', option }));
  const names = new Set(own.map(({ option }) => new Option(option.form).attributeName()));
  const common = [...FORM_OPTIONS, ...(declaration.isLocal === true ? [] : CONNECTION_OPTIONS)];
  const rest = common.filter(({ form }) => !names.has(new Option(form).attributeName()));
  return [...own, ...rest.map((option) => ({ heading: 'Common options:', option }))];
}

export function createProgram(options: ProgramOptions): Command {
  const program = styled(new Command('svc'), options)
    .description('Memory for agents, from the command line.')
    .version(options.version, '-V, --version', 'Version of this installation.')
    .helpOption('-h, --help', 'Help; also of a command: svc <command> --help.')
    .helpCommand('help [command]', 'Help.')
    .enablePositionalOptions();
  const groups = new Map<string, Command>();
  for (const declaration of COMMANDS) {
    const [first = '', second] = declaration.name.split(' ');
    const parent = second === undefined ? program : groupNamed(program, groups, first);
    const own = second ?? first;
    add(parent, own, declaration, options);
  }
  return program;
}

function groupNamed(program: Command, groups: Map<string, Command>, name: string): Command {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const group = program.command(name).description(GROUPS[name] ?? '');
  groups.set(name, group);
  return group;
}

function add(parent: Command, name: string, declaration: CommandDeclaration, { choose }: ProgramOptions): void {
  const { summary, notes = [], args = [], examples = [], isDefault = false } = declaration;
  const command = parent
    .command(name, { isDefault })
    .summary(summary)
    .description([summary, ...notes].join('\n'));
  for (const { form, meaning, choices } of args) {
    const made = new Argument(form, meaning);
    command.addArgument(choices === undefined ? made : made.choices([...choices]));
  }
  for (const { heading, option } of optionsOf(declaration)) {
    const made = new Option(option.form, option.meaning);
    if (option.choices !== undefined) made.choices([...option.choices]);
    command.addOption(heading === '' ? made : made.helpGroup(heading));
  }
  if (examples.length > 0) command.addHelpText('after', `\nExamples:\n${examples.map((one) => `  ${one}\n`).join('')}`);
  command.action(() => {
    choose({ declaration, input: { args: command.processedArgs as CommandInput['args'], options: command.opts() } });
  });
}

function styled(program: Command, { columns, hasColour, write }: ProgramOptions): Command {
  const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`;
  const cyan = (text: string): string => `\u001b[36m${text}\u001b[39m`;
  return program
    .configureHelp({ styleTitle: bold, styleCommandText: cyan, styleOptionTerm: cyan, styleSubcommandTerm: cyan })
    .configureOutput({
      writeOut: write,
      // What is wrong is said in one place, where every other problem is.
      writeErr: () => {},
      outputError: () => {},
      getOutHelpWidth: () => columns,
      getOutHasColors: () => hasColour,
    })
    .exitOverride();
}

/** Calls `choose`, or throws UsageProblem. False when help or the version was all that was wanted. */
export async function parseCommand(program: Command, argv: readonly string[]): Promise<boolean> {
  try {
    await program.parseAsync(withValuesApart(argv), { from: 'user' });
    return true;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return false;
    throw usageProblem(error, program, argv);
  }
}

/** An option that may stand alone is put behind the arguments where the word behind it is one of them. */
function withValuesApart(argv: readonly string[]): readonly string[] {
  const options = COMMANDS.find(({ name }) => name === argv[0])?.options ?? [];
  return options.reduce((words, { form, takes }) => {
    const at = words.indexOf(new Option(form).long ?? form);
    const next = words[at + 1];
    const isApart = at < 0 || next === undefined || next.startsWith('-');
    return takes === undefined || isApart || takes.test(next) ? words : withAlone(words, at);
  }, argv);
}

function withAlone(words: readonly string[], at: number): readonly string[] {
  const behind = words.findIndex((word, place) => place > at && word.startsWith('-'));
  const end = behind < 0 ? words.length : behind;
  return [...words.slice(0, at), ...words.slice(at + 1, end), ...words.slice(at, at + 1), ...words.slice(end)];
}

function usageProblem({ code, message }: CommanderError, program: Command, argv: readonly string[]): UsageProblem {
  const help = `Help: ${['svc', ...commandIn(program, argv), '--help'].join(' ')}`;
  // Only `svc help <word>` ends so: every group has a command that it stands for.
  if (code === 'commander.help') return new UsageProblem(`unknown command '${argv.slice(1).join(' ')}'.`, [help]);
  const [sentence = '', ...rest] = message.replace(/^error: /, '').split('\n');
  // What commander takes for meant is one of the options of the program alone.
  const advice = isTooEarly(argv)
    ? [`It stands behind the command: svc <command> ${argv[0]?.split('=')[0] ?? ''}`]
    : rest.map((line) => line.replace(/^\(|\)$/g, ''));
  return new UsageProblem(sentence.replace(/\.*$/, '.'), [...advice, help]);
}

/** An option of commands where the command was to be named. */
function isTooEarly([first = '']: readonly string[]): boolean {
  const name = first.split('=')[0];
  return [...FORM_OPTIONS, ...CONNECTION_OPTIONS].some(({ form }) => new Option(form).long === name);
}

/** The words that name the command which was meant. */
function commandIn(program: Command, argv: readonly string[]): readonly string[] {
  const [word, ...rest] = argv;
  const named = program.commands.find((command) => command.name() === word);
  return named === undefined ? [] : [named.name(), ...commandIn(named, rest)];
}
