import { toolFor } from '@svc/contract/tool.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { Revision } from './revision.ts';
import type { Sessions } from './sessions.ts';
import type { HabitatStore } from './store/habitat-store.ts';

/** What the registry's tools work with. */
export interface HabitatDeps {
  readonly platform: Platform;
  readonly store: HabitatStore;
  readonly revision: Revision;
  readonly sessions: Sessions;
}

export const defineTool = toolFor<HabitatDeps>();
