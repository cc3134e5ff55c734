/** brain_link and brain_connections: what belongs together. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import { brainAndBranch, PathText, PlainText } from '@svc/contract/params.ts';
import { defineTool } from '../../deps.ts';
import { CHANGE_RAISES, READ_RAISES, requireWriter, resolveTarget, settled } from '../../tools/target.ts';
import { DEFAULT_LINK, LINK_LIMITS, LINK_TYPE } from '../domain/link.ts';
import { countLinks, identifyNames, listConnections } from '../operations.ts';

const { brain } = brainAndBranch;
export const NodeName = PathText.pipe(PlainText.min(1).max(LINK_LIMITS.nameLength));

const link = defineTool({
  name: 'brain_link',
  area: 'brain',
  description: 'Notes that one thing of a brain belongs together with another: files, islands, brains, or other names.',
  input: z.strictObject({
    from: NodeName.describe('File, island, brain, or another name.'),
    to: NodeName,
    type: z
      .string()
      .regex(LINK_TYPE, 'must be 1-32 lower-case letters, digits or dashes, starting with a letter')
      .optional()
      .describe(`How: ${DEFAULT_LINK} (default), depends, builds, alternatives, or a label of your own.`),
    brain,
  }),
  output: z.strictObject({
    linked: z.literal(true),
    from: z.string(),
    to: z.string(),
    type: z.string(),
    existed: z.boolean(),
    totalLinks: z.int().describe('Of the brain, as far as the caller may know of them.'),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_QUOTA'],
  raises: [...CHANGE_RAISES, 'VAF_INPUT_INVALID'],
  dress: { linked: false },
  example: { from: 'plans/garden.md', to: 'learnings/soil.md', type: 'depends' },
  async handler({ from, to, type = DEFAULT_LINK, ...wish }, context) {
    if (from === to) throw context.fail('VAF_INPUT_INVALID', 'to: is the same as from');
    requireWriter(context.caller);
    const target = await resolveTarget(context, wish);
    const { id: brainId, resources } = await target.ask(identifyNames, { names: [from, to] });
    const noted = { place: { brain: target.brain, brainId }, by: target.op.actor, resources };
    const outcome = await context.deps.relations.link(context, noted, { from, to, type });
    const { existed } = context.take(settled(context, outcome));
    return { linked: true as const, from, to, type, existed, totalLinks: await target.ask(countLinks, {}) };
  },
});

const connections = defineTool({
  name: 'brain_connections',
  area: 'brain',
  description: 'Shows what something is linked with, directly and through others, in both directions.',
  input: z.strictObject({
    brain: NodeName.optional().describe('Where to start: file, island, brain or another name; default: the brain.'),
    depth: z.int().min(1).max(LINK_LIMITS.depth).optional().describe('How many links away at most, default 2.'),
    in: BrainName.optional().describe("Brain whose links are meant (ours); default: the top of the session's stack."),
  }),
  output: z.strictObject({
    brain: z.string(),
    depth: z.int(),
    connections: z.array(
      z.strictObject({
        from: z.string(),
        to: z.string(),
        type: z.string(),
        depth: z.int().describe('1 = a link of the start itself.'),
      }),
    ),
    nodes: z.int().describe('Names that were reached, the start among them.'),
    count: z.int(),
    truncated: z
      .boolean()
      .describe(`There is more than ${LINK_LIMITS.nodes} names or ${LINK_LIMITS.connections} links.`),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: READ_RAISES,
  example: { brain: 'plans/garden.md', depth: 2 },
  async handler({ brain: named, depth = 2, in: within }, context) {
    const target = await resolveTarget(context, { brain: within });
    const start = named ?? target.brain;
    const found = await target.ask(listConnections, { start, depth });
    const { nodes, truncated } = found;
    return {
      brain: start,
      depth,
      connections: [...found.connections],
      nodes,
      count: found.connections.length,
      truncated,
    };
  },
});

export const linkTools = [link, connections];
