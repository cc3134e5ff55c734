import { type CommandDeclaration, textArgument } from '../command.ts';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from '../completion-scripts.ts';

export const completionCommand: CommandDeclaration = {
  name: 'completion',
  summary: 'Prints what makes your shell complete commands, tools and their arguments.',
  args: [{ form: '<shell>', meaning: 'Your shell.', choices: SHELLS }],
  isLocal: true,
  examples: [
    'source <(svc completion bash)      # in ~/.bashrc',
    'source <(svc completion zsh)       # in ~/.zshrc, after compinit',
    'svc completion fish | source       # in ~/.config/fish/config.fish',
  ],
  async run({ terminal }, input) {
    terminal.raw(COMPLETION_SCRIPTS[textArgument(input, 0) as Shell]);
  },
};
