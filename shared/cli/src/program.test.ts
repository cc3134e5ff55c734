import { expect, test } from 'vitest';
import type { CommandInput } from './command.ts';
import { createProgram, parseCommand } from './program.ts';

const parse = (...argv: string[]) => {
  const program = createProgram({ version: '1', columns: 80, hasColour: false, write: () => {}, choose: () => {} });
  return parseCommand(program, argv);
};

test.each([
  [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish\.$/],
  [['set', 'a', 'b', 'c'], /got 3: a, b, c\.$/],
  [['nope'], /unknown command 'nope'\.$/],
  [['help', 'nope'], /unknown command 'nope'\.$/],
])('what is wrong with %j is one sentence', async (argv, sentence) => {
  await expect(parse(...argv)).rejects.toThrow(sentence);
});

test.each([
  [['branch', 'create'], 'Help: svc branch create --help'],
  [['set', 'a', 'b', 'c'], 'Help: svc set --help'],
  [['help', 'nope'], 'Help: svc --help'],
])('%j is led to the help of the command that it names', async (argv, advice) => {
  await expect(parse(...argv)).rejects.toMatchObject({ exit: 'usage', advice: [advice] });
});

test.each(['--url=http://h', '--session', '--json', '--timeout'])(
  '%s before the command is sent behind it',
  async (option) => {
    const advice = [`It stands behind the command: svc <command> ${option.split('=')[0] ?? ''}`, 'Help: svc --help'];
    await expect(parse(option, 'status')).rejects.toMatchObject({ message: `unknown option '${option}'.`, advice });
  },
);

async function inputOf(...argv: string[]): Promise<CommandInput | undefined> {
  const inputs: CommandInput[] = [];
  const quiet = { version: '1', columns: 80, hasColour: false, write: () => {} };
  await parseCommand(createProgram({ ...quiet, choose: ({ input }) => void inputs.push(input) }), argv);
  return inputs[0];
}

test.each([
  [['--json', 'svc_health'], { args: ['svc_health', []], options: { json: true } }],
  [['--json', 'svc_search', 'query=x'], { args: ['svc_search', ['query=x']], options: { json: true } }],
  [['svc_search', '--json', 'query=x'], { args: ['svc_search', ['query=x']], options: { json: true } }],
  [
    ['--json', 'svc_search', 'query=x', '--session', 's'],
    { args: ['svc_search', ['query=x']], options: { json: true, session: 's' } },
  ],
  [['svc_health', '--json'], { args: ['svc_health', []], options: { json: true } }],
  [['svc_search', '--json', '{"query":"x"}'], { args: ['svc_search', []], options: { json: '{"query":"x"}' } }],
  [['--json', '{"query":"x"}', 'svc_search'], { args: ['svc_search', []], options: { json: '{"query":"x"}' } }],
  [['svc_search', '--json', '-'], { args: ['svc_search', []], options: { json: '-' } }],
  [['--json', '@file', 'svc_search'], { args: ['svc_search', []], options: { json: '@file' } }],
])('svc call %j: --json has an object behind it, or stands alone wherever it stands', async (argv, input) => {
  expect(await inputOf('call', ...argv)).toEqual(input);
});
