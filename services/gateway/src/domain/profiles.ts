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
