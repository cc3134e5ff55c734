/** What a client asks to be told, and what of it there is. */
import { isObject } from './call-form.ts';
import type { RequestMessage } from './mcp-results.ts';
import { INVALID_PARAMS, McpError, missingCapability, speaksOfTasks, TASKS_REQUIRED } from './mcp-wire.ts';

/** Lists that may change while the service runs. */
export type ListName = 'tools' | 'prompts' | 'resources';

/** Of one stream or session. */
export const MAX_WANTED_RESOURCES = 100;
const MAX_URI_LENGTH = 2048;
const LISTS = { toolsListChanged: 'tools', promptsListChanged: 'prompts', resourcesListChanged: 'resources' } as const;
export const ALL_LISTS: readonly ListName[] = Object.values(LISTS);

interface WantedPart {
  readonly lists: readonly ListName[];
  readonly resources: readonly string[];
}

interface Offered {
  readonly lists: Readonly<Partial<Record<ListName, unknown>>>;
  isResource(uri: string): boolean;
}

/** Throws McpError. */
export function wantedPart(message: RequestMessage, offered: Offered): WantedPart {
  const asked = message.params['notifications'];
  if (!isObject(asked)) throw new McpError(INVALID_PARAMS, 'params.notifications must be an object.');
  if (asked['taskIds'] !== undefined && !speaksOfTasks(message)) throw missingCapability(TASKS_REQUIRED);
  const { resourceSubscriptions = [] } = asked;
  if (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.length > MAX_WANTED_RESOURCES) {
    throw new McpError(INVALID_PARAMS, `resourceSubscriptions must be at most ${MAX_WANTED_RESOURCES} addresses.`);
  }
  const lists = Object.entries(LISTS).flatMap(([member, list]) =>
    asked[member] === true && offered.lists[list] !== undefined ? [list] : [],
  );
  const resources = resourceSubscriptions.filter((uri): uri is string => isAddress(uri) && offered.isResource(uri));
  return { lists, resources: [...new Set(resources)] };
}

export function isAddress(uri: unknown): uri is string {
  return typeof uri === 'string' && uri.length <= MAX_URI_LENGTH;
}

export function honouredLists(lists: readonly ListName[]): Record<string, true> {
  return Object.fromEntries(
    Object.entries(LISTS).flatMap(([member, list]) => (lists.includes(list) ? [[member, true] as const] : [])),
  );
}
