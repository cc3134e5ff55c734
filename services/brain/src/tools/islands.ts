/** svc_get_islands: the islands that a session sees. */
import { z } from 'zod';
import { brainAndBranch, DEFAULT_LIMIT, page, Sha256Hex } from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import { readIsland } from '../domain/island.ts';
import { cursorAfter, nextCursor, positionOf } from './results.ts';
import { opContext, READ_RAISES, READ_REFUSES, resolveReads } from './target.ts';

const ISLAND_FILES = 1000;

const getIslands = defineTool({
  name: 'svc_get_islands',
  area: 'core',
  description: 'Lists the islands: named units of knowledge with triggers, kept as files under islands/.',
  input: z.strictObject({ ...brainAndBranch, ...page }),
  output: z.strictObject({
    islands: z.array(
      z.strictObject({
        name: z.string(),
        type: z.string(),
        triggers: z.array(z.string()),
        enabled: z.boolean(),
        description: z.string(),
        kind: z.enum(['text', 'data']),
        gated: z.boolean().describe('Whether a policy is attached.'),
        invalid: z.literal(true).optional().describe('The file does not parse.'),
        brain: z.string(),
        branch: z.string(),
        hash: Sha256Hex,
      }),
    ),
    count: z.int(),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: READ_RAISES,
  async handler({ limit = DEFAULT_LIMIT, cursor, ...wish }, context) {
    const shared = {
      context: opContext(context),
      category: 'islands',
      at: null,
      after: null,
      withContent: true,
      withTitle: false,
    };
    const found = new Map<string, Awaited<ReturnType<typeof shownIslands>>[number]>();
    for (const { ops, brain, branch } of await resolveReads(context, wish)) {
      const { files } = context.take(await ops.list({ ...shared, branch, limit: ISLAND_FILES }));
      for (const island of shownIslands(files, brain, branch))
        if (!found.has(island.name)) found.set(island.name, island);
    }
    const after = positionOf(cursor);
    const sorted = [...found.values()]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .filter(({ name }) => after === null || name > after);
    const islands = sorted.slice(0, limit);
    const next = sorted.length > limit ? (islands.at(-1)?.name ?? null) : null;
    return { islands, count: islands.length, ...cursorAfter(next) };
  },
});

function shownIslands(
  files: readonly { file: string; hash: string; content?: string }[],
  brain: string,
  branch: string,
) {
  return files.flatMap(({ file, hash, content = '' }) => {
    const island = readIsland(file, content);
    if (island === null) return [];
    const { invalid, triggers, ...shown } = island;
    return [
      {
        ...shown,
        triggers: [...triggers],
        gated: false,
        ...(invalid ? { invalid: true as const } : {}),
        brain,
        branch,
        hash,
      },
    ];
  });
}

export const islandTools = [getIslands];
