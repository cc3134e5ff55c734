/** brain_state: where a session is, and what was learned there. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import { defineTool } from '../../deps.ts';
import { shownActive } from '../../evolution/evolution-store.ts';
import { activeShown } from '../../evolution/tools/evolution.ts';
import { scopeOf } from '../../memory/tools/scope.ts';
import { findBranch } from '../../operations/branches.ts';
import { identify } from '../../operations/standing.ts';
import { shownStack, stackNames } from '../../tools/results.ts';
import { READ_RAISES, resolveTarget } from '../../tools/target.ts';
import { listAttention } from '../operations.ts';
import { shownInsight } from './insights.ts';
import { byFrom, shownSynapses, synapseTable } from './synapses.ts';

const RECENT_INSIGHTS = 10;
const HEAVIEST_SYNAPSES = 100;

const state = defineTool({
  name: 'brain_state',
  area: 'brain',
  description: 'Shows where the session is, and what was learned there: attention, paths between brains, insights.',
  input: z.strictObject({ brain: BrainName.optional() }),
  output: z.strictObject({
    current: z.string(),
    branch: z.string(),
    stack: stackNames,
    synapses: synapseTable,
    attention: z.record(z.string(), z.number()).describe('What deserves how much attention of the workspace now.'),
    session: activeShown.nullable().describe('Session of work that goes on.'),
    recentInsights: z.array(z.strictObject(shownInsight)).describe('Of the workspace, newest first.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_BRANCH_ABSENT'],
  raises: [...READ_RAISES, 'RLS_DENIED'],
  async handler(wish, context) {
    const { deps, caller, now } = context;
    const { ask, brain, branch } = await resolveTarget(context, wish);
    context.take(await ask(findBranch, { branch }));
    const workspace = (await scopeOf(context, {})) ?? '';
    const { id: brainId } = await ask(identify, {});
    const active = await deps.evolutions.active({ brainId, session: caller.session });
    const synapses = (await shownSynapses(context)).slice(0, HEAVIEST_SYNAPSES);
    const attention = await ask(listAttention, { workspace, now });
    const insights = await deps.relations.insights(workspace, RECENT_INSIGHTS);
    return {
      current: brain,
      branch,
      stack: shownStack(await deps.sessions.read(caller.session)).stack,
      synapses: byFrom(synapses),
      attention: Object.fromEntries(attention.map(({ name, value }) => [name, value])),
      session: active === null ? null : shownActive(active, brain),
      recentInsights: insights.map(({ by: _by, ...shown }) => ({ ...shown, tags: [...shown.tags] })),
    };
  },
});

export const stateTools = [state];
