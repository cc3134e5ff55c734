/** Profiles: named lists of tool names and globs. */
import { BUILT_IN_PROFILES } from '@svc/contract/settings.ts';
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

const BUILT_IN: ReadonlySet<string> = new Set(BUILT_IN_PROFILES);

export const FULL = 'full';

/** Profiles that operators have set: name -> names of tools, with `*` for any part of one. */
export type SetProfiles = ReadonlyMap<string, readonly string[]>;

export const NO_PROFILES: SetProfiles = new Map();

/** Whether the profile is part of the product, so that nothing has to be known of those that are set. */
export function isBuiltIn(name: string): boolean {
  return BUILT_IN.has(name);
}

/** Null when there is no such profile. */
export function profileNamed(name: string, set: SetProfiles): ToolPredicate | null {
  if (name === FULL) return () => true;
  if (name === 'core') return (card) => CORE.has(card.name);
  if (BUILT_IN.has(name)) return (card) => card.service === name;
  const patterns = set.get(name);
  return patterns === undefined ? null : (card) => patterns.some((pattern) => fits(pattern, card.name));
}

/** In one pass over the name, however many `*` there are. */
function fits(pattern: string, name: string): boolean {
  const [start = '', ...others] = pattern.split('*');
  const end = others.pop();
  if (end === undefined) return name === start;
  if (!name.startsWith(start) || !name.endsWith(end)) return false;
  const until = name.length - end.length;
  let from = start.length;
  for (const part of others) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= until;
}

/** Tools that show the list of tools: whoever is held to a profile finds its own tools with them, and no others. */
const DISCOVERY: ReadonlySet<string> = new Set(['tool_search', 'tool_describe']);

type Named = Pick<ToolCard, 'name' | 'service'>;

/** Whether a token held to that profile may call the tool; null = held to none. An unknown profile allows nothing more. */
export function isAllowedBy(profile: string | null, card: Named, set: SetProfiles): boolean {
  return profile === null || DISCOVERY.has(card.name) || profileNamed(profile, set)?.(card) === true;
}

/** What shows in lists and searches of such a token. */
export function shownBy(profile: string | null, set: SetProfiles): ToolPredicate {
  return profile === null ? () => true : (profileNamed(profile, set) ?? (() => false));
}
