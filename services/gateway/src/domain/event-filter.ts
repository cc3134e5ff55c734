/** Which events a socket asked for. Without any subscription it hears everything that it may. */
import { isNamedBy } from '@svc/contract/event-visibility.ts';

export interface EventFilter {
  /** Names and `area:*` patterns; null = every name. */
  readonly names: readonly string[] | null;
  /** Names taken out of what `names` covers. */
  readonly except: readonly string[];
  readonly workspaces: readonly string[] | null;
  readonly narrowed: boolean;
}

/** Of each list: what a socket is compared with for every event, and what is told to it in every answer. */
export const MAX_WANTED = 100;

/** Whether the filter is larger than a socket may hold. */
export function isTooLarge({ names, except, workspaces }: EventFilter): boolean {
  return [names, except, workspaces].some((list) => list !== null && list.length > MAX_WANTED);
}

export const EVERYTHING: EventFilter = { names: null, except: [], workspaces: null, narrowed: false };

export function withSubscription(
  filter: EventFilter,
  events: readonly string[] | undefined,
  workspace: string | undefined,
): EventFilter {
  const before = filter.narrowed ? filter.names : [];
  const names = events === undefined || before === null ? null : [...new Set([...before, ...events])];
  const except = events === undefined ? [] : filter.except.filter((name) => !isNamedByAny(events, name));
  const workspaces =
    workspace === undefined ? filter.workspaces : [...new Set([...(filter.workspaces ?? []), workspace])];
  return { names, except, workspaces, narrowed: true };
}

export function withoutSubscription(filter: EventFilter, events: readonly string[] | undefined): EventFilter {
  if (events === undefined) return { ...filter, names: [], except: [], narrowed: true };
  if (filter.names === null) return { ...filter, except: [...new Set([...filter.except, ...events])], narrowed: true };
  const names = filter.names.filter((name) => !isNamedByAny(events, name));
  const covered = events.filter((name) => isNamedByAny(names, name));
  return { ...filter, names, except: [...new Set([...filter.except, ...covered])], narrowed: true };
}

function isNamedByAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => isNamedBy(pattern, name));
}

export function isWanted(filter: EventFilter, name: string, workspace: string | undefined): boolean {
  if (filter.names !== null && !isNamedByAny(filter.names, name)) return false;
  if (isNamedByAny(filter.except, name)) return false;
  return filter.workspaces === null || workspace === undefined || filter.workspaces.includes(workspace);
}
