/** Every tool of the registry. */
import type { Tool } from '@svc/contract/tool.ts';
import type { HabitatDeps } from '../deps.ts';

export const habitatTools: readonly Tool<HabitatDeps>[] = [];
