/** A service that keeps nothing and asks the eighth one. */
import { toolFor } from '@svc/contract/tool.ts';
import { createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition } from '@svc/runtime/service.ts';
import { z } from 'zod';
import { EIGHTH } from './service.ts';

type NeighbourDeps = OperationClient<typeof EIGHTH, 'neighbour'>;

const defineTool = toolFor<NeighbourDeps>();

const notesCount = defineTool({
  name: 'notes_count',
  area: 'note',
  description: 'How many notes the neighbour keeps.',
  input: z.strictObject({}),
  output: EIGHTH.declared.count.answer,
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  handler: (_input, { deps }) => deps.count({}),
});

export const neighbourService: ServiceDefinition<NeighbourDeps, StatelessPlatform> = {
  name: 'neighbour',
  tools: [notesCount],
  async start(platform) {
    const deps = createOperationClient(platform, EIGHTH, 'neighbour');
    return { deps, checks: async () => [], drain: async () => {}, close: async () => {} };
  },
};
