/** Finding a tool among hundreds without reading them all, and calling one by name. */
import { CallError } from '@svc/contract/codes.ts';
import type { Caller, ToolCard } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { z } from 'zod';
import { defineTool, type GatewayDeps } from '../deps.ts';
import { shownBy, type ToolPredicate } from '../domain/profiles.ts';
import { assertAllSpoke, type ServiceDirectory } from '../service-directory.ts';

const DEFAULT_HITS = 5;
const MAX_HITS = 20;
const MAX_NAMES = 10;

const ToolName = z.string().min(1).max(100);

const toolSearch = defineTool({
  name: 'tool_search',
  area: 'tools',
  description: 'Finds tools by what is to be done.',
  input: z.strictObject({
    query: z.string().min(1).max(400).describe('Words.'),
    limit: z.int().min(1).max(MAX_HITS).optional().describe(`Default ${DEFAULT_HITS}.`),
    area: z.string().min(1).max(64).optional().describe('Only tools of this area.'),
  }),
  output: z.object({
    tools: z.array(
      z.object({ name: z.string(), description: z.string(), area: z.string(), effect: z.string(), score: z.number() }),
    ),
    count: z.int(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { query: 'write a file' },
  async handler({ query, limit = DEFAULT_HITS, area }, { deps, caller }) {
    const includes = await shownTo(deps, caller);
    if (area !== undefined) assertArea(deps.directory, area, includes);
    const hits = deps.directory.index.find(query, { limit, area, includes });
    const tools = hits.map(({ card: { name, description, area: place, effect }, score }) => {
      return { name, description, area: place, effect, score };
    });
    return { tools, count: tools.length };
  },
});

const toolDescribe = defineTool({
  name: 'tool_describe',
  area: 'tools',
  description: 'Describes tools in full: schemas, access, effect, refusals and an example.',
  input: z.strictObject({
    names: z.union([ToolName, z.array(ToolName).min(1).max(MAX_NAMES)]).describe('Names of tools.'),
  }),
  output: z.object({
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        inputSchema: z.record(z.string(), z.unknown()),
        outputSchema: z.record(z.string(), z.unknown()),
        annotations: z.record(z.string(), z.boolean()),
        access: z.string(),
        effect: z.string(),
        refusals: z.array(z.string()),
        example: z.record(z.string(), z.unknown()).nullable(),
      }),
    ),
    unknown: z.array(z.object({ name: z.string(), nearest: z.array(z.string()) })),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  aliases: { name: 'names' },
  example: { names: ['tool_search'] },
  async handler({ names }, { deps, caller }) {
    const { directory } = deps;
    const isShown = await shownTo(deps, caller);
    const asked = [...new Set(typeof names === 'string' ? [names] : names)];
    const found = asked.map((name) => ({ name, card: shownCard(directory, name, isShown) }));
    if (found.some(({ card }) => card === undefined)) assertAllSpoke(directory);
    return {
      tools: found.flatMap(({ card }) => (card === undefined ? [] : describe(card))),
      unknown: found
        .filter(({ card }) => card === undefined)
        .map(({ name }) => ({ name, nearest: directory.nearest(name, isShown) })),
    };
  },
});

/** Nothing found in an area that there is not would say that no tool does it. */
function assertArea(directory: ServiceDirectory, area: string, includes: ToolPredicate): void {
  const areas = directory.index.areas(includes);
  if (areas.includes(area)) return;
  assertAllSpoke(directory);
  throw invalidArguments([{ path: 'area', message: `must be one of ${areas.join(', ')}` }]);
}

/** A token held to a profile learns of no other tools. */
async function shownTo({ ports }: GatewayDeps, { token, registry }: Caller): Promise<ToolPredicate> {
  const profile = token?.profile ?? null;
  return shownBy(profile, await ports.profilesFor(profile, async () => registry));
}

function shownCard(
  directory: ServiceDirectory,
  name: string,
  isShown: (card: ToolCard) => boolean,
): ToolCard | undefined {
  const card = directory.route(name)?.card;
  return card !== undefined && isShown(card) ? card : undefined;
}

function describe(card: ToolCard) {
  const { name, description, inputSchema, outputSchema, annotations, access, effect, refusals, example } = card;
  const hints = { ...annotations };
  return [
    {
      name,
      description,
      inputSchema,
      outputSchema,
      annotations: hints,
      access,
      effect,
      refusals: [...refusals],
      example,
    },
  ];
}

/** The door replaces this call by the inner one, so that access, limits and metrics are those of the inner tool. */
const svcCall = defineTool({
  name: 'svc_call',
  area: 'tools',
  description: 'Calls a tool by name; the result is exactly that of the tool.',
  input: z.strictObject({
    name: ToolName.describe('Name of the tool.'),
    args: z.record(z.string(), z.unknown()).optional().describe('Its arguments.'),
  }),
  output: z.looseObject({}),
  access: 'public',
  effect: 'external',
  destructive: true,
  refuses: [],
  aliases: { arguments: 'args' },
  example: { name: 'tool_search', args: { query: 'write a file' } },
  handler() {
    return Promise.reject(new CallError('VAF_INPUT_INVALID', 'svc_call is answered at the door only.'));
  },
});

export const discoveryTools = [toolSearch, toolDescribe, svcCall];
