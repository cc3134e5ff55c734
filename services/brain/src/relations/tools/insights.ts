/** brain_share: what somebody learned, for everybody of its workspace. */
import { z } from 'zod';
import { PlainText, TimestampMs } from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { defineTool } from '../../deps.ts';
import { scopeOf } from '../../memory/tools/scope.ts';
import { opContext, settled } from '../../tools/target.ts';

export const InsightText = PlainText.min(1).max(2000);

export const shownInsight = {
  id: z.string(),
  insight: z.string(),
  source: z.string().nullable(),
  tags: z.array(z.string()),
  sharedAt: TimestampMs,
};

const share = defineTool({
  name: 'brain_share',
  area: 'brain',
  description: 'Shares something learned with everybody of the workspace; the newest 10,000 are kept.',
  input: z.strictObject({
    insight: InsightText.describe('What was learned.'),
    source: PlainText.max(200).optional().describe('Where it comes from.'),
    tags: z.array(PlainText.min(1).max(64)).max(16).optional(),
    userCtx: UserCtx.optional(),
  }),
  output: z.strictObject({ shared: z.literal(true), ...shownInsight }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  raises: ['RLS_DENIED'],
  example: { insight: 'Deploys on Fridays fail more often.', tags: ['deploy'] },
  async handler({ insight, source = null, tags = [], ...wish }, context) {
    const workspace = (await scopeOf(context, wish)) ?? '';
    const { actor: by } = opContext(context);
    const outcome = await context.deps.relations.share(context, { workspace, insight, source, tags, by });
    const { by: _by, ...shared } = context.take(settled(context, outcome));
    return { shared: true as const, ...shared, tags: [...shared.tags] };
  },
});

export const insightTools = [share];
