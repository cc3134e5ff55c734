/** brain_evolution_*: sessions of work, with what was changed and learned in them. */
import { z } from 'zod';
import { AgentIdText, BrainName } from '@svc/contract/names.ts';
import { CommitId, page, TimestampMs } from '@svc/contract/params.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { defineTool } from '../../deps.ts';
import { scopeOf } from '../../memory/tools/scope.ts';
import { identify } from '../../operations/standing.ts';
import { InsightText } from '../../relations/tools/insights.ts';
import { cursorAfter, nextCursor } from '../../tools/results.ts';
import { type CallContext, READ_RAISES, resolveTarget, settled, type Target } from '../../tools/target.ts';
import { shownActive, type WorkPlace } from '../evolution-store.ts';
import { listEvolutions, tellEvolution, type ToldEvolution } from '../operations.ts';

const brain = { brain: BrainName.optional().describe("Brain; default: the top of the session's stack.") };
const RAISES = [...READ_RAISES, 'RLS_DENIED'] as const;

export const activeShown = z.strictObject({
  id: z.string(),
  brain: z.string(),
  branch: z.string(),
  startedAt: TimestampMs,
});

const summaryShape = {
  id: z.string(),
  brain: z.string(),
  branch: z.string(),
  by: z.string(),
  startedAt: TimestampMs,
  endedAt: TimestampMs.nullable(),
  durationMs: z.number(),
  changes: z.int().describe('Of files that the caller may read.'),
  files: z.array(z.string()).describe('Files that were changed, as far as the caller may read them.'),
  commits: z.array(CommitId),
};

function shown({ summary }: ToldEvolution, of: string, now: number) {
  const { insights: _insights, files, commits, ...rest } = summary;
  const durationMs = Math.max(0, (summary.endedAt ?? now) - summary.startedAt);
  return { ...rest, brain: of, durationMs, files: [...files], commits: [...commits] };
}

/** Throws BRAIN_LOAD_FAIL, RLS_DENIED. */
async function workOf(context: CallContext, wish: { brain?: string | undefined }) {
  const target: Target = await resolveTarget(context, wish);
  const { id: brainId } = await target.ask(identify, {});
  const { brain: name, branch, op } = target;
  const workspace = (await scopeOf(context, {})) ?? '';
  const work: WorkPlace = { place: { brain: name, brainId }, branch, workspace, session: op.session, by: op.actor };
  return { target, work };
}

const start = defineTool({
  name: 'brain_evolution_start',
  area: 'brain',
  description: 'Begins a session of work on a brain: what this session changes and commits until its end is noted.',
  input: z.strictObject({ sessionId: AgentIdText.optional().describe('What it is called; default: an id.'), ...brain }),
  output: z.strictObject({ started: z.literal(true), session: activeShown }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_EVOLUTION_ACTIVE'],
  raises: RAISES,
  dress: { started: false },
  example: { sessionId: 'spring-cleaning' },
  async handler({ sessionId = null, ...wish }, context) {
    const { work } = await workOf(context, wish);
    const outcome = await context.deps.evolutions.start(context, work, sessionId);
    return { started: true as const, session: context.take(settled(context, outcome)) };
  },
});

const end = defineTool({
  name: 'brain_evolution_end',
  area: 'brain',
  description: 'Ends the session of work and says what was changed, committed and learned in it.',
  input: z.strictObject(brain),
  output: z.strictObject({ ended: z.literal(true), summary: z.strictObject({ ...summaryShape, insights: z.int() }) }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_EVOLUTION_ABSENT'],
  raises: RAISES,
  dress: { ended: false },
  async handler(wish, context) {
    const { target, work } = await workOf(context, wish);
    const { id } = context.take(settled(context, await context.deps.evolutions.end(context, work)));
    const told = await target.ask(tellEvolution, { id });
    if (told === null) throw context.refuse('E_EVOLUTION_ABSENT');
    const { insights } = told.summary;
    return { ended: true as const, summary: { ...shown(told, target.brain, context.now), insights } };
  },
});

const insight = defineTool({
  name: 'brain_evolution_insight',
  area: 'brain',
  description: 'Notes what was learned in the session of work; begins one when none goes on.',
  input: z.strictObject({ insight: InsightText.describe('What was learned.'), ...brain }),
  output: z.strictObject({
    recorded: z.literal(true),
    session: z.string(),
    insights: z.int().describe('Noted in the session so far; the first 200 are kept.'),
    autoStarted: z.boolean(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  raises: RAISES,
  example: { insight: 'The gate sticks when it rains.' },
  async handler({ insight: text, ...wish }, context) {
    const { work } = await workOf(context, wish);
    const outcome = await context.deps.evolutions.insight(context, work, text);
    return { recorded: true as const, ...context.take(settled(context, outcome)) };
  },
});

const history = defineTool({
  name: 'brain_evolution_history',
  area: 'brain',
  description: 'Lists the sessions of work that the workspace did on a brain, newest first.',
  input: z.strictObject({ ...brain, ...page }),
  output: z.strictObject({
    history: z.array(
      z.strictObject({
        ...summaryShape,
        insights: z.array(z.strictObject({ insight: z.string(), at: TimestampMs })).describe('The first 200.'),
        insightsCount: z.int(),
      }),
    ),
    count: z.int().describe('On this page.'),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const { target, work } = await workOf(context, wish);
    const position = positionOf(limit, cursor);
    const { sessions, next } = await target.ask(listEvolutions, { workspace: work.workspace, ...position });
    const rows = sessions.map((told) => ({
      ...shown(told, target.brain, context.now),
      insights: [...told.insights],
      insightsCount: told.summary.insights,
    }));
    return { history: rows, count: rows.length, ...cursorAfter(next) };
  },
});

const status = defineTool({
  name: 'brain_evolution_status',
  area: 'brain',
  description: 'Shows whether a session of work goes on in this session, and how much it has changed and learned.',
  input: z.strictObject(brain),
  output: z.strictObject({
    active: z.boolean(),
    session: activeShown.nullable(),
    changesCount: z.int(),
    insightsCount: z.int(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: RAISES,
  async handler(wish, context) {
    const { target, work } = await workOf(context, wish);
    const { session, place } = work;
    const active = await context.deps.evolutions.active({ brainId: place.brainId, session });
    const told = active === null ? null : await target.ask(tellEvolution, { id: active.id });
    return {
      active: active !== null,
      session: active === null ? null : shownActive(active, place.brain),
      changesCount: told?.summary.changes ?? 0,
      insightsCount: told?.summary.insights ?? 0,
    };
  },
});

export const evolutionTools = [start, end, insight, history, status];
