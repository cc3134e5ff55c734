/** brain_attend and brain_synapses: what is cared for, and which brains are used one after the other. */
import { z } from 'zod';
import { brainAndBranch, page, TimestampMs } from '@svc/contract/params.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../../deps.ts';
import { nextCursor } from '../../tools/results.ts';
import { scopeOf } from '../../memory/tools/scope.ts';
import { CHANGE_RAISES, requireWriter, resolveTarget, settled } from '../../tools/target.ts';
import { shownNumber } from '../domain/fading.ts';
import { identifyNames } from '../operations.ts';
import { NodeName } from './links.ts';
import { byFrom, shownSynapses, synapseTable } from './synapses.ts';

const { brain } = brainAndBranch;

const attend = defineTool({
  name: 'brain_attend',
  area: 'brain',
  description:
    'Notes that something of a brain deserves the attention of the workspace now; it fades by half each day.',
  input: z.strictObject({
    name: NodeName.describe('File, island or another name.'),
    score: z.number().min(0).max(1).optional().describe('How much; default: 0.2 more than it has. 0 = forget it.'),
    brain,
  }),
  output: z.strictObject({ name: z.string(), score: z.number(), at: TimestampMs }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  raises: CHANGE_RAISES,
  example: { name: 'plans/garden.md', score: 0.8 },
  async handler({ name, score = null, ...wish }, context) {
    requireWriter(context.caller);
    const target = await resolveTarget(context, wish);
    const { id: brainId, resources } = await target.ask(identifyNames, { names: [name] });
    const noted = { place: { brain: target.brain, brainId }, by: target.op.actor, resources };
    const workspace = (await scopeOf(context, {})) ?? '';
    const outcome = await context.deps.relations.attend(context, noted, { workspace, name, score });
    const attended = context.take(settled(context, outcome));
    return { name, score: shownNumber(attended.score), at: attended.at };
  },
});

const synapses = defineTool({
  name: 'brain_synapses',
  area: 'brain',
  description: 'Shows to which brains the sessions of the workspace go after which, and how often.',
  input: z.strictObject({ ...page }),
  output: z.strictObject({ synapses: synapseTable, edges: z.int().describe('On this page.'), ...nextCursor }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: ['RLS_DENIED'],
  async handler({ limit, cursor }, context) {
    const position = positionOf(limit, cursor);
    const keyOf = ({ from, to }: { from: string; to: string }): string => `${from} ${to}`;
    const all = (await shownSynapses(context)).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const { after } = position;
    const rest = all.filter((one) => after === null || keyOf(one) > after);
    const { items, next } = nextPage(rest, position, keyOf);
    return { synapses: byFrom(items), edges: items.length, ...next };
  },
});

export const attentionTools = [attend, synapses];
