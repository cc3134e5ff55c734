/** Which tools there are, and what one of them takes. */
import type { Client } from '@svc/client/client.ts';
import { nearestNames } from '@svc/contract/nearest.ts';
import { type CommandContext, type CommandDeclaration, manyArguments, textArgument, textOption } from '../command.ts';
import { showObject, showRows } from '../output.ts';
import { UsageProblem } from '../problems.ts';
import type { Terminal } from '../terminal.ts';
import type { Column } from '../table.ts';
import { oneLine } from '../visible.ts';
import { toolText } from '../tool-text.ts';

interface Row {
  readonly name: string;
  readonly area: string;
  readonly effect: string;
  readonly description: string;
}

const MAX_HITS = 20;

const COLUMNS: readonly Column<Row>[] = [
  { title: 'TOOL', value: ({ name }) => name, paint: () => 'cyan' },
  { title: 'AREA', value: ({ area }) => area },
  { title: 'EFFECT', value: ({ effect }) => effect, paint: ({ effect }) => (effect === 'read' ? 'dim' : 'yellow') },
  { title: 'WHAT IT DOES', value: ({ description }) => description },
];

export const toolsCommand: CommandDeclaration = {
  name: 'tools',
  summary: 'Lists the tools of the node, or those that fit some words.',
  args: [{ form: '[words...]', meaning: 'What you want to do; the best fit comes first.' }],
  options: [
    { form: '--profile <name>', meaning: 'Only the tools of this profile; not with words.' },
    { form: '--area <name>', meaning: 'Only the tools of this area.' },
  ],
  examples: ['svc tools', 'svc tools write a file', 'svc tools --area branches --json | jq -r .name'],
  async run({ client, terminal, signal }, input) {
    const [area, profile] = [textOption(input, 'area'), textOption(input, 'profile')];
    const query = manyArguments(input, 0).join(' ');
    // The node looks for words in all tools that the caller may know of.
    if (query !== '' && profile !== undefined) throw new UsageProblem('Words or a profile, not both.');
    const found =
      query === ''
        ? await client.tools({
            ...(area === undefined ? {} : { area }),
            ...(profile === undefined ? {} : { profile }),
            signal,
          })
        : (await client.call('tool_search', { query, limit: MAX_HITS, area }, { signal })).tools;
    if (found.length === 0 && area !== undefined) await assertArea(client, area, signal);
    const rows = found.map(({ name, area: place, effect, description }) => ({
      name,
      area: place,
      effect,
      description,
    }));
    showRows(terminal, rows, COLUMNS, query === '' ? 'No tools.' : 'No tool fits these words.');
    if (terminal.isSeen && !terminal.isJson) hintAt(terminal, rows.length);
  },
};

/** Throws UsageProblem with the nearest names. */
async function assertArea(client: Client, area: string, signal: AbortSignal): Promise<void> {
  const areas = new Set((await client.tools({ signal })).map((tool) => tool.area));
  if (areas.has(area)) return;
  throw new UsageProblem(`There is no area ${oneLine(area)}.`, [`Nearest: ${nearestNames(area, areas).join(', ')}`]);
}

function hintAt(terminal: Terminal, count: number): void {
  terminal.note(
    terminal.paintNote('dim', `\n${count} ${count === 1 ? 'tool' : 'tools'}. What one takes: svc describe <tool>`),
  );
}

export const describeCommand: CommandDeclaration = {
  name: 'describe',
  summary: 'Shows what a tool does, takes, answers and refuses.',
  args: [{ form: '<tool>', meaning: 'Name of the tool.', completes: 'tool' }],
  examples: ['svc describe svc_search', 'svc describe svc_search --json | jq .inputSchema'],
  async run(context, input) {
    const tool = await describeTool(context, textArgument(input, 0) ?? '');
    showObject(context.terminal, tool, () => toolText(context.terminal, tool));
  },
};

export type DescribedTool = Awaited<ReturnType<typeof toolDescribe>>['tools'][number];

const toolDescribe = (client: Client, name: string, signal: AbortSignal) =>
  client.call('tool_describe', { names: [name] }, { signal });

/** Throws UsageProblem with the nearest names. */
export async function describeTool(
  { client, signal }: Pick<CommandContext, 'client' | 'signal'>,
  name: string,
): Promise<DescribedTool> {
  const { tools, unknown } = await toolDescribe(client, name, signal);
  const [tool] = tools;
  if (tool !== undefined) return tool;
  const nearest = unknown[0]?.nearest ?? [];
  throw new UsageProblem(
    `There is no tool ${oneLine(name)}.`,
    nearest.length === 0 ? [] : [`Nearest: ${nearest.join(', ')}`],
  );
}
