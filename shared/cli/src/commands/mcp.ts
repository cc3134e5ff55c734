/** The protocol of agents on stdin and stdout, for clients that start their servers themselves. */
import type { CommandDeclaration } from '../command.ts';
import { folderOption } from '../folder-option.ts';

export const mcpCommand: CommandDeclaration = {
  name: 'mcp',
  summary: 'Speaks the Model Context Protocol on stdin and stdout, for the configuration of an agent.',
  notes: [
    'Passes on to the node of the data directory; starts one where none runs, which ends a while after its last client.',
    'docs/mcp.md has the configurations and the variables.',
  ],
  options: [
    {
      form: '-d, --data <directory>',
      meaning: 'Whose node (SVC_DATA_DIR), default ./data.',
      completes: 'file',
    },
  ],
  isLocal: true,
  examples: ['svc mcp', 'svc mcp -d ~/brain'],
  async run({ surroundings }, input) {
    const data = folderOption(input, 'data');
    await surroundings.start({
      environment: { SVC_MODE: 'mcp', ...(data === undefined ? {} : { SVC_DATA_DIR: data }) },
    });
  },
};
