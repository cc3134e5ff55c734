import type { CommandDeclaration } from '../command.ts';

export const promptCommand: CommandDeclaration = {
  name: 'prompt',
  summary: 'Opens an interactive prompt: commands and tools, with completion and history.',
  notes: ['Lines that come on stdin are run one after the other. SVC_MODE=cli starts a node with a prompt.'],
  isLocal: true,
  examples: ['svc prompt', 'svc prompt < lines.txt'],
  run: ({ openPrompt }) => openPrompt(),
};
