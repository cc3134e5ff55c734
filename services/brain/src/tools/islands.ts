/** Reading islands: listed, shown, loaded, found by their triggers, exported, and who may. */
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';
import { brainAndBranch, page, Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { applyTransforms } from '@svc/contract/transform.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import type { LoadedIsland } from '../brain/islands.ts';
import { defineTool } from '../deps.ts';
import { IslandName } from '../domain/island/island.ts';
import { triggerMatcher } from '../domain/island/trigger.ts';
import { assertBoundary, viewRules } from './island-boundary.ts';
import { definition, findIsland, type FoundIsland, islandsOfStack, shownDefinition } from './island-reading.ts';
import { cursorAfter, nextCursor } from './results.ts';
import { present, PRESENT_REFUSES, READ_RAISES, resolveReads } from './target.ts';

const name = { name: IslandName };
const userCtx = { userCtx: UserCtx.optional() };

const getIslands = defineTool({
  name: 'svc_get_islands',
  area: 'core',
  description: 'Lists the islands: named units of knowledge with triggers, kept as files under islands/.',
  input: z.strictObject({ ...brainAndBranch, ...page }),
  output: z.strictObject({ islands: z.array(definition.omit({ source: true })), count: z.int(), ...nextCursor }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const position = positionOf(limit, cursor);
    const found = context.take(present(await islandsOfStack(context, wish, position.after)));
    const { items, next } = nextPage(found, position, ({ island }) => island.name);
    const islands = items.map((row) => {
      const { source: _source, ...shown } = shownDefinition(row);
      return shown;
    });
    return { islands, count: islands.length, ...next };
  },
});

const loadedText = z.strictObject({
  name: z.string(),
  type: z.string(),
  content: z.string().describe('The text, and the readable files of its sources after it.'),
  source: z.string().describe('Brain it came from.'),
  files: z.array(z.string()).describe('Files that were appended.'),
});

const loadIsland = defineTool({
  name: 'svc_load_island',
  area: 'islands',
  description: 'Loads an island that is switched on: its text with the files of its sources, or its data.',
  input: z.strictObject({
    ...name,
    options: z
      .strictObject({ ...userCtx, brain: BrainName.optional() })
      .optional()
      .describe('userCtx and brain, as the arguments of those names.'),
    ...brainAndBranch,
    ...userCtx,
  }),
  output: z.strictObject({
    name: z.string(),
    loaded: z.literal(true),
    type: z.string(),
    kind: z.enum(['text', 'data']),
    triggers: z.array(z.string()),
    data: z.union([loadedText, z.unknown()]).describe('Of a data island: its data without what its boundary hides.'),
    brain: z.string(),
    branch: z.string(),
    hash: Sha256Hex,
    truncated: z.boolean().describe('The sources hold more than the 64 KiB that were appended.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: [...PRESENT_REFUSES, 'E_ISLAND_ABSENT', 'E_ISLAND_DISABLED', 'E_ISLAND_INVALID'],
  raises: [...READ_RAISES, 'RLS_DENIED'],
  dress: { loaded: false },
  example: { name: 'ops' },
  async handler({ name: island, options = {}, ...wish }, context) {
    const brain = options.brain ?? wish.brain;
    if (wish.brain !== undefined && wish.brain !== brain) {
      throw invalidArguments([{ path: 'options.brain', message: 'says something else than brain' }]);
    }
    const targets = await resolveReads(context, { ...wish, brain });
    const rows = await viewRules(context, targets[0]?.brain ?? context.deps.defaultBrain);
    await assertBoundary(context, rows, [island], 'load');
    const found = context.take(present(await findIsland(targets, island, true)));
    if (found === null) throw context.refuse('E_ISLAND_ABSENT', { name: island });
    if (found.island.invalid) throw context.refuse('E_ISLAND_INVALID', { name: island });
    if (!found.island.enabled) throw context.refuse('E_ISLAND_DISABLED', { name: island });
    const { type, kind, triggers, hash } = found.island;
    return {
      name: island,
      loaded: true as const,
      type,
      kind,
      triggers: [...triggers],
      data: loadedData(found, rows.gate(island)),
      brain: found.brain,
      branch: found.branch,
      hash,
      truncated: found.truncated,
    };
  },
});

type Gate = ReturnType<Awaited<ReturnType<typeof viewRules>>['gate']>;

function loadedData({ island, content, files, brain }: FoundIsland, gate: Gate): unknown {
  if (content.kind === 'data') return hidden(gate, content.data);
  return { name: island.name, type: island.type, content: content.text, source: brain, files: [...files] };
}

/** What the boundary's filter and mask leave of a data island. */
function hidden(gate: Gate, data: unknown): unknown {
  return gate === null ? data : applyTransforms(gate, data)?.data;
}

const getIsland = defineTool({
  name: 'svc_get_island',
  area: 'islands',
  description: 'Shows what an island is, without its content.',
  input: z.strictObject({ ...name, ...brainAndBranch, ...userCtx }),
  output: z.union([
    definition.extend({ found: z.literal(true) }),
    z.strictObject({ name: z.string(), found: z.literal(false) }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: [...READ_RAISES, 'RLS_DENIED'],
  example: { name: 'ops' },
  async handler({ name: island, ...wish }, context) {
    const targets = await resolveReads(context, wish);
    const rows = await viewRules(context, targets[0]?.brain ?? context.deps.defaultBrain);
    await assertBoundary(context, rows, [island], 'hydrate');
    const found = context.take(present(await findIsland(targets, island, false)));
    if (found === null) return { name: island, found: false as const };
    return { found: true as const, ...shownDefinition({ ...found, gated: rows.gate(island) !== null }) };
  },
});

const findByTrigger = defineTool({
  name: 'svc_find_islands_by_trigger',
  area: 'islands',
  description: 'Finds the islands that are switched on and have a trigger that the text is or contains as whole words.',
  input: z.strictObject({
    trigger: z.string().min(1).max(2000).describe('A trigger, or a text that may contain some.'),
    ...brainAndBranch,
    ...userCtx,
    ...page,
  }),
  output: z.strictObject({
    trigger: z.string(),
    islands: z.array(
      z.strictObject({
        name: z.string(),
        type: z.string(),
        triggers: z.array(z.string()),
        matched: z.array(z.string()).describe('The triggers that were found.'),
        brain: z.string(),
      }),
    ),
    count: z.int(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  example: { trigger: 'please review my pr' },
  async handler({ trigger, limit, cursor, ...wish }, context) {
    const position = positionOf(limit, cursor);
    const all = context.take(present(await islandsOfStack(context, wish, position.after)));
    const matching = triggerMatcher(trigger);
    const found = all.flatMap(({ island, brain }) => {
      const matched = island.enabled ? matching(island.triggers) : [];
      return matched.length === 0 ? [] : [{ island, matched, brain }];
    });
    const { items, next } = nextPage(found, position, ({ island }) => island.name);
    const islands = items.map(({ island, matched, brain }) => ({
      name: island.name,
      type: island.type,
      triggers: [...island.triggers],
      matched,
      brain,
    }));
    return { trigger, islands, count: islands.length, ...next };
  },
});

/** Content that one export carries, as JSON; more comes with the next cursor. */
const EXPORT_BYTES = 2 * 1024 * 1024;

const exportIslands = defineTool({
  name: 'svc_export_islands',
  area: 'islands',
  description: 'Exports the readable islands with their text or data.',
  input: z.strictObject({ ...brainAndBranch, ...userCtx, ...page }),
  output: z.strictObject({
    islands: z.array(
      definition.extend({
        content: z.string().optional().describe('Of a text island.'),
        data: z.unknown().optional().describe('Of a data island, without what its boundary hides.'),
      }),
    ),
    count: z.int(),
    exportedAt: TimestampMs,
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const position = positionOf(limit, cursor);
    const all = context.take(present(await islandsOfStack(context, wish, position.after)));
    const islands: (ReturnType<typeof shownDefinition> & { content?: string; data?: unknown })[] = [];
    let bytes = 0;
    let last: string | null = null;
    for (const row of all) {
      if (islands.length === position.limit || bytes > EXPORT_BYTES) {
        return { islands, count: islands.length, exportedAt: context.now, ...cursorAfter(last) };
      }
      last = row.island.name;
      const found = context.take(present(await findIsland([row.target], last, false)));
      if (found === null) continue;
      const rows = await viewRules(context, row.brain);
      const exported = {
        ...shownDefinition({ ...found, gated: row.gated }),
        ...exportedContent(found, rows.gate(last)),
      };
      islands.push(exported);
      bytes += JSON.stringify(exported).length;
    }
    return { islands, count: islands.length, exportedAt: context.now };
  },
});

function exportedContent({ content }: LoadedIsland, gate: Gate): { content: string } | { data: unknown } {
  return content.kind === 'text' ? { content: content.text } : { data: hidden(gate, content.data) };
}

export const islandTools = [getIslands, loadIsland, getIsland, findByTrigger, exportIslands];
