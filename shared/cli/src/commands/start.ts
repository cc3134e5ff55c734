/** The node itself, from the command line. */
import type { CommandDeclaration } from '../command.ts';
import { folderOption } from '../folder-option.ts';
import { portNumber } from '../numbers.ts';

export const startCommand: CommandDeclaration = {
  name: 'start',
  summary: 'Starts a node here, until Ctrl-C.',
  notes: ['All its settings are environment variables: docs/config.md. A file .env in this directory is read.'],
  options: [
    { form: '-p, --port <number>', meaning: 'Its port (SVC_MCP_PORT), default 3457.' },
    {
      form: '-d, --data <directory>',
      meaning: 'Where it keeps everything (SVC_DATA_DIR), default ./data.',
      completes: 'file',
    },
  ],
  isLocal: true,
  examples: ['svc start', 'svc start -d ~/brain -p 4000'],
  async run({ surroundings }, input) {
    const [port, data] = [portNumber(input, 'port'), folderOption(input, 'data')];
    const environment = {
      ...(port === undefined ? {} : { SVC_MCP_PORT: port }),
      ...(data === undefined ? {} : { SVC_DATA_DIR: data }),
    };
    await surroundings.start({ environment });
  },
};
