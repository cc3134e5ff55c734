/** What the rooms at the edge of the deployment work with: what is outside, other nodes, and how a session begins. */
import { type Caller, toolFor } from '@svc/contract/tool.ts';
import type { BootStore } from './boot/boot-store.ts';
import type { Layers } from './boot/layers.ts';
import type { Connectors } from './connectors/connectors.ts';
import type { ContactStore } from './connectors/contact-store.ts';
import type { KeyedRuns } from './keyed-runs.ts';
import type { Registry } from './registry.ts';
import type { Remotes } from './remote/remotes.ts';
import type { Tasks } from './doors-ports.ts';

export interface DoorDeps {
  readonly boots: BootStore;
  readonly layers: Layers;
  readonly connectors: Connectors;
  readonly contacts: ContactStore;
  readonly keyedRuns: KeyedRuns;
  readonly tasks: Tasks;
  readonly remotes: Remotes;
  readonly registry: Pick<Registry, 'sudo'>;
  /** Endpoints that may be reached although they are not public, as operators listed them. */
  allowPrivate(): Promise<readonly string[]>;
}

export const defineDoorTool = toolFor<DoorDeps>();

/** As whom others are asked on behalf of a call. */
export function onBehalfOf({ subject, operator, token }: Caller): Pick<Caller, 'subject' | 'operator' | 'token'> {
  return { subject, operator, token };
}
