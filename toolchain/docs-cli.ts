/** docs/cli.md: the commands of `svc`, as their declarations and their help say. */
import { CLI_VARIABLES } from '../shared/contract/src/cli-variables.ts';
import type { CommandDeclaration, OptionDeclaration } from '../shared/cli/src/command.ts';
import { COMMANDS } from '../shared/cli/src/commands/all.ts';
import { CONNECTION_OPTIONS } from '../shared/cli/src/connection.ts';
import { EXIT_CODES } from '../shared/cli/src/exit-codes.ts';
import { FORM_OPTIONS } from '../shared/cli/src/program.ts';
import { code, GENERATED, page, table } from './markdown.ts';

export function cliPage(): string {
  return page(
    '# The command line',
    GENERATED,
    INSTALL,
    FIRST_MINUTE,
    '## Which node, and as whom',
    table(
      ['Variable', '', 'Default', 'Meaning'],
      Object.entries(CLI_VARIABLES).map(([name, variable]) => [
        code(name),
        'secret' in variable ? 'secret' : '',
        variable.fallback,
        variable.meaning,
      ]),
    ),
    'Every command that speaks to a node takes these options, which come before the variables:',
    optionTable(CONNECTION_OPTIONS),
    '## For people and for programs',
    OUTPUT,
    optionTable(FORM_OPTIONS),
    'The exit code says how a command ended:',
    table(
      ['Exit code', 'Meaning'],
      Object.values(EXIT_CODES).map(([number, meaning]) => [String(number), meaning]),
    ),
    '## Completion',
    COMPLETION,
    '## Commands',
    ...COMMANDS.flatMap(commandBlocks),
  );
}

const INSTALL = `\`svc\` talks to a node over HTTP. In a checkout it is \`npm exec svc -- <command>\`; \`npm install -g .\` there makes it \`svc\`
everywhere. Node 20 or newer and npm are needed; the first command installs the rest, as \`npm start\` does.`;

const FIRST_MINUTE = [
  '```console',
  'svc start                                         # in another terminal',
  'svc status',
  'svc set learnings/first "Write things down."',
  'svc search writing',
  'svc commit -m "my first learning"',
  'svc tools write a file',
  'svc call brain_write name=notes/tides content="High water at six."',
  'svc watch                                         # what happens, as it happens',
  'svc doctor                                        # when something is wrong',
  '```',
].join('\n');

const OUTPUT = `At a terminal a command shows text, tables and colours; anywhere else it writes JSON, a line for each row or one for the whole
result. \`svc get\` is the exception: it writes the bytes of the file. What is wrong stands on stderr as a sentence, with \`--json\` as
\`{"error": {exit, code, message, advice, data}}\`. Control characters in what others wrote are shown, never carried out.`;

const COMPLETION = [
  'Commands, options, names of tools and of their arguments, values of choices, branches and files of the brain:\n',
  '```console',
  'source <(svc completion bash)      # in ~/.bashrc',
  'source <(svc completion zsh)       # in ~/.zshrc, after compinit',
  'svc completion fish | source       # in ~/.config/fish/config.fish',
  '```',
].join('\n');

function optionTable(options: readonly OptionDeclaration[]): string {
  return table(
    ['Option', 'Meaning'],
    options.map(({ form, meaning }) => [code(form), meaning]),
  );
}

function commandBlocks({
  name,
  summary,
  notes = [],
  args = [],
  options = [],
  examples = [],
}: CommandDeclaration): string[] {
  const usage = ['svc', name, ...args.map(({ form }) => form)].join(' ');
  return [
    `### svc ${name}`,
    [summary, ...notes].join('\n'),
    code(usage),
    args.length === 0
      ? ''
      : table(
          ['Argument', 'Meaning'],
          args.map(({ form, meaning, choices }) => [
            code(form),
            choices === undefined ? meaning : `${meaning} (${choices.join(', ')})`,
          ]),
        ),
    options.length === 0 ? '' : optionTable(options),
    examples.length === 0 ? '' : ['```console', ...examples, '```'].join('\n'),
  ];
}
