/** What an agent is to know at the start of its work, within a budget of tokens. */
import { z } from 'zod';
import { brainAndBranch, CommitId, PlainText, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { defineTool } from '../../deps.ts';
import {
  type CallContext,
  present,
  PRESENT_REFUSES,
  READ_RAISES,
  resolveTarget,
  settled,
  type Target,
} from '../../tools/target.ts';
import { buildContext } from '../build.ts';
import { KEPT_MS } from '../kept-contexts.ts';
import type { ContextWish } from '../context-store.ts';
import { type AssembledContext, LAYERS, SHARES } from '../domain/assemble.ts';
import { familyOf } from '../domain/model-family.ts';

const AREA = 'context';
const DEFAULT_BUDGET = 8000;
const layerName = z.enum(LAYERS);

const layers = z.array(
  z.strictObject({
    name: layerName,
    tokens: z.int(),
    items: z.int(),
    truncated: z.boolean().describe('Something of it did not fit.'),
    hash: Sha256Hex,
  }),
);
const breakpoints = z
  .array(z.strictObject({ after: layerName, tokens: z.int(), hash: Sha256Hex.describe('Of everything up to here.') }))
  .describe('Where a model may be told to keep what it has read so far.');

const cacheState = z.enum(['hit', 'miss']);

const build = defineTool({
  name: 'context_build',
  area: AREA,
  description:
    'Puts together what an agent should know for a question: notes, islands, found passages, history, open changes, never over a budget, each piece cited.',
  input: z.strictObject({
    ...brainAndBranch,
    query: PlainText.max(2000)
      .optional()
      .describe('What the work is about; without it, what is attended to most and what was changed last.'),
    budget: z.int().min(256).max(200_000).default(DEFAULT_BUDGET).describe('Tokens; one is counted as 4 bytes.'),
    includeTools: z.boolean().default(false).describe('With the tools of the brain and what they do.'),
    userCtx: UserCtx.optional(),
  }),
  output: z.strictObject({
    brain: z.string(),
    branch: z.string(),
    assembled: z.string(),
    tokens: z.int(),
    budget: z.int(),
    layers,
    cache: z.strictObject({ state: cacheState, ttlMs: z.int(), breakpoints }),
    citations: z.array(
      z.strictObject({
        file: z.string(),
        lines: z.tuple([z.int(), z.int()]),
        commit: CommitId.nullable(),
        hash: Sha256Hex,
        layer: layerName,
      }),
    ),
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  example: { query: 'deploying', budget: 2000 },
  async handler({ query = '', budget, includeTools, ...place }, context) {
    const target = await resolveTarget(context, place);
    const { brain, branch } = target;
    const wish = { brain, branch, query: query.trim() === '' ? null : query, budget, includeTools };
    const { context: made, wasKnown } = context.take(present(await buildAsked(context, wish, target)));
    const { text, tokens } = made;
    return {
      brain,
      branch,
      assembled: text,
      tokens,
      budget,
      layers: [...made.layers],
      cache: {
        state: wasKnown ? ('hit' as const) : ('miss' as const),
        ttlMs: KEPT_MS,
        breakpoints: [...made.breakpoints],
      },
      citations: shownCitations(made),
    };
  },
});

async function buildAsked(context: CallContext, wish: ContextWish, found?: Target): ReturnType<typeof buildContext> {
  const made = await buildContext(context, wish, found);
  if (made.ok) await context.deps.contexts.store.noteAsked(context.caller.session, made.value);
  return made;
}

function shownCitations({ citations }: AssembledContext) {
  return citations.map(({ lines, ...citation }) => ({ ...citation, lines: [...lines] as [number, number] }));
}

const refresh = defineTool({
  name: 'context_refresh',
  area: AREA,
  description: 'Builds the last context of this session again, and tells whether it says something else now.',
  input: z.strictObject({}),
  output: z.strictObject({
    refreshed: z.literal(true),
    brain: z.string(),
    hash: Sha256Hex.describe('Of the text.'),
    changed: z.boolean(),
    tokens: z.int(),
  }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  async handler(_input, context) {
    const { caller, deps } = context;
    const { store } = deps.contexts;
    const last = await store.last(caller.session);
    const built = context.take(present(await buildContext(context, last?.wish ?? (await defaultWish(context)))));
    const outcome = await store.noteRefreshed(context, caller.session, built);
    return { refreshed: true as const, ...context.take(settled(context, outcome)) };
  },
});

async function defaultWish(context: CallContext): Promise<ContextWish> {
  const { brain, branch } = await resolveTarget(context, {});
  return { brain, branch, query: null, budget: DEFAULT_BUDGET, includeTools: false };
}

const inspect = defineTool({
  name: 'context_inspect',
  area: AREA,
  description: 'Shows what the last context of this session was made of.',
  input: z.strictObject({}),
  output: z.union([
    z.strictObject({
      built: z.literal(true),
      brain: z.string(),
      builtAt: TimestampMs,
      tokens: z.int(),
      budget: z.int(),
      layers,
      breakpoints,
      hits: z.int(),
      misses: z.int(),
    }),
    z.strictObject({ built: z.literal(false) }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const last = await deps.contexts.store.last(caller.session);
    if (last === null) return { built: false as const };
    const { wish, builtAt, tokens, hits, misses } = last;
    const { brain, budget } = wish;
    const parts = { layers: [...last.layers], breakpoints: [...last.breakpoints] };
    return { built: true as const, brain, builtAt, tokens, budget, ...parts, hits, misses };
  },
});

const layersTool = defineTool({
  name: 'context_layers',
  area: AREA,
  description: 'Shows the layers of a context in their order, and the share of the budget that each has.',
  input: z.strictObject({}),
  output: z.strictObject({
    layers: z.array(layerName),
    shares: z
      .strictObject({ static: z.int(), islands: z.int(), knowledge: z.int(), history: z.int(), dynamic: z.int() })
      .describe('Percent; tools are paid from the share of static.'),
    cacheStates: z.array(cacheState),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  handler: async () => ({ layers: [...LAYERS], shares: { ...SHARES }, cacheStates: ['hit' as const, 'miss' as const] }),
});

const family = z.strictObject({
  model: z.string(),
  family: z.string(),
  supported: z.boolean(),
  maxBreakpoints: z.int().describe('Places to mark; 0 = the model finds by itself what it has seen before.'),
  minTokens: z.int().describe('A shorter beginning is not kept.'),
  ttlMs: z.int(),
});

const cache = defineTool({
  name: 'context_cache',
  area: AREA,
  description:
    'Tells how a family of models keeps what it has read; without a model, how often this session built anew.',
  input: z.strictObject({ model: z.string().min(1).max(200).optional() }),
  output: z.union([family, z.strictObject({ hits: z.int(), misses: z.int(), breakpoints })]),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { model: 'claude-sonnet' },
  async handler({ model }, { deps, caller }) {
    if (model !== undefined) return { model, ...familyOf(model) };
    const last = await deps.contexts.store.last(caller.session);
    const { hits = 0, misses = 0, breakpoints: places = [] } = last ?? {};
    return { hits, misses, breakpoints: [...places] };
  },
});

export const contextTools = [build, refresh, layersTool, inspect, cache];
