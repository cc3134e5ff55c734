import { toolFor } from '@svc/contract/tool.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { Audit } from './audit/audit.ts';
import type { BrainPort } from './brain-port.ts';
import type { Revision } from './revision.ts';
import type { Sessions } from './sessions.ts';
import type { HabitatStore } from './store/habitat-store.ts';
import type { TokenUse } from './token-use.ts';

/** What the registry's tools work with. */
export interface HabitatDeps {
  readonly platform: Platform;
  readonly store: HabitatStore;
  readonly revision: Revision;
  readonly sessions: Sessions;
  readonly tokenUse: TokenUse;
  readonly audit: Audit;
  readonly brain: BrainPort;
  /** Whoever puts something into an inbox calls it afterwards; what was there before arrives too, only later. */
  inboxFilled(): void;
}

export const defineTool = toolFor<HabitatDeps>();
