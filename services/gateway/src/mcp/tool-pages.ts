/** The tools of a profile in pages, as the Model Context Protocol lists them: text that is built once. */
import type { ToolCard } from '@svc/contract/tool.ts';
import { listedTool } from '../domain/listed-tool.ts';
import { INVALID_PARAMS, McpError } from '../domain/mcp-wire.ts';
import { chosenCards, profileKey } from '../tool-list.ts';
import type { SetProfiles } from '../domain/profiles.ts';

/** The members `tools` and, when there are more, `nextCursor` of a result. Throws INVALID_REQUEST, McpError. */
export type ToolPages = (profile: string, cursor: unknown, set: SetProfiles) => string;

const PAGE_SIZE = 200;
/** Profiles may be set anew any number of times. */
const MAX_LISTS = 100;

export function createToolPages(cards: readonly ToolCard[]): ToolPages {
  const built = new Map<string, readonly string[]>();
  return (profile, cursor, set) => {
    const key = profileKey(profile, set);
    let pages = built.get(key);
    if (pages === undefined) {
      pages = pagesOf(chosenCards(cards, profile, set));
      if (built.size >= MAX_LISTS) built.clear();
      built.set(key, pages);
    }
    const page = pages[pageAt(cursor)];
    if (page === undefined) throw new McpError(INVALID_PARAMS, 'The cursor is none of this list.');
    return page;
  };
}

function pagesOf(cards: readonly ToolCard[]): string[] {
  const count = Math.max(1, Math.ceil(cards.length / PAGE_SIZE));
  return Array.from({ length: count }, (_, index) => {
    const tools = JSON.stringify(cards.slice(index * PAGE_SIZE, (index + 1) * PAGE_SIZE).map(listedTool));
    return `"tools":${tools}${index + 1 < count ? `,"nextCursor":"${cursorTo(index + 1)}"` : ''}`;
  });
}

function cursorTo(page: number): string {
  return Buffer.from(`page ${page}`).toString('base64url');
}

/** -1 for a cursor that is none. */
function pageAt(cursor: unknown): number {
  if (cursor === undefined) return 0;
  if (typeof cursor !== 'string') return -1;
  return Number(/^page (\d{1,4})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1] ?? -1);
}
