import { expect, test } from 'vitest';
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
