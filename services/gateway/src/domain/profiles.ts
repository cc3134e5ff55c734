/** Profiles: named lists of tool names and globs. */
import type { ToolCard } from '@svc/contract/tool.ts';

export type ToolPredicate = (card: Pick<ToolCard, 'name' | 'service'>) => boolean;

/** What an agent sees first: few enough to read whole. */
const CORE: ReadonlySet<string> = new Set([
  'svc_search',
  'svc_get_memory',
  'svc_set_memory',
  'brain_list_files',
  'svc_commit',
  'svc_lock',
  'svc_memory_state',
  'svc_memory_recall',
  'svc_habitat_can',
  'escrow_status',
  'forum_publish',
  'forum_list',
  'consensus_vote',
  'tool_search',
  'tool_describe',
  'svc_call',
]);

const SERVICES: ReadonlySet<string> = new Set(['gateway', 'brain', 'habitat', 'escrow', 'agora', 'market', 'universe']);

export const FULL = 'full';

/** Null when there is no such profile. */
export function profileNamed(name: string): ToolPredicate | null {
  if (name === FULL) return () => true;
  if (name === 'core') return (card) => CORE.has(card.name);
  return SERVICES.has(name) ? (card) => card.service === name : null;
}

/** Tools that show the list of tools: whoever is held to a profile finds its own tools with them, and no others. */
const DISCOVERY: ReadonlySet<string> = new Set(['tool_search', 'tool_describe']);

/** Whether a token held to that profile may call the tool; null = held to none. An unknown profile allows nothing more. */
export function isAllowedBy(profile: string | null, card: Pick<ToolCard, 'name' | 'service'>): boolean {
  return profile === null || DISCOVERY.has(card.name) || profileNamed(profile)?.(card) === true;
}

/** Whether it shows in lists and searches of such a token. */
export function isShownBy(profile: string | null, card: Pick<ToolCard, 'name' | 'service'>): boolean {
  return profile === null || profileNamed(profile)?.(card) === true;
}
