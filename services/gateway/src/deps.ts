/** What the gateway's own tools work with. */
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { toolFor } from '@svc/contract/tool.ts';
import type { Config } from '@svc/runtime/config.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Ports } from './ports.ts';
import type { Readiness } from './readiness.ts';
import type { ServiceDirectory } from './service-directory.ts';

export interface GatewayDeps {
  readonly platform: Pick<StatelessPlatform, 'kind' | 'node' | 'durability'> & {
    readonly config: Pick<Config, 'SVC_MODE'>;
  };
  readonly directory: ServiceDirectory;
  readonly readiness: Readiness;
  readonly keyed: boolean;
  readonly ports: Pick<Ports, 'profilesFor'>;
  /** Whether the doors of the Model Context Protocol want a credential. */
  requiresKey(stamp: RegistryStamp | null): Promise<boolean>;
}

export const defineTool = toolFor<GatewayDeps>();
